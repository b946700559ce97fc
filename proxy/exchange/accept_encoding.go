package exchange

import (
	"bytes"
	"strconv"

	"example.com/ferry/internal/compress"
)

// acceptEncoding is what the Accept-Encoding fields of a request say, RFC 9110, section 12.5.3. The zero value is that of a request without one.
// A quality is a thousandth; notNamed means that the request does not name the coding.
type acceptEncoding struct {
	gzip, zstd, identity, rest int
}

const notNamed = -1

// readAcceptEncoding reads the fields of a request's head.
func readAcceptEncoding(h Fields) acceptEncoding {
	a := acceptEncoding{notNamed, notNamed, notNamed, notNamed}
	for name, value := range h.All {
		if bytes.EqualFold(name, acceptEncodingName) {
			for item := range bytes.SplitSeq(value, []byte(",")) {
				a.add(item)
			}
		}
	}
	return a
}

var acceptEncodingName = []byte("accept-encoding")

func (a *acceptEncoding) add(item []byte) {
	coding, parameters, _ := bytes.Cut(item, []byte(";"))
	quality := readQuality(parameters)
	switch string(bytes.ToLower(bytes.TrimSpace(coding))) {
	case "gzip", "x-gzip":
		a.gzip = quality
	case "zstd":
		a.zstd = quality
	case "identity":
		a.identity = quality
	case "*":
		a.rest = quality
	}
}

// readQuality returns the weight among the parameters of a coding in thousandths: 1000 if there is none, 0 if it is malformed.
func readQuality(parameters []byte) int {
	for each := range bytes.SplitSeq(parameters, []byte(";")) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(each), []byte("="))
		if bytes.EqualFold(bytes.TrimSpace(name), []byte("q")) {
			q, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
			if err != nil || !(q >= 0 && q <= 1) {
				return 0
			}
			return int(q * 1000)
		}
	}
	return 1000
}

// best returns the name of the coding that the client likes best, or an empty string for none. Of two that it likes alike, zstd is cheaper. It has to be
// named: clients that accept everything are older than it.
func (a acceptEncoding) best() string {
	gzip, zstd := a.gzip, a.zstd
	if gzip == notNamed {
		gzip = a.rest
	}
	switch most := max(gzip, zstd); {
	case most <= 0 || most < a.identity:
		return ""
	case zstd == most:
		return compress.Zstd
	}
	return compress.Gzip
}
