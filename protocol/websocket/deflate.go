package websocket

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// ResponseExtension is what a server says that Negotiate has accepted. No window is kept between messages, so an idle connection has no
// memory for compression. RFC 7692, section 7.1.1.
const ResponseExtension = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"

// Negotiate reports whether a client offers permessage-deflate in a form that the server can do. offers is the value of
// Sec-WebSocket-Extensions. RFC 7692, section 7.1.
func Negotiate(offers string) bool {
	for offer := range strings.SplitSeq(offers, ",") {
		name, parameters, _ := strings.Cut(offer, ";")
		if strings.TrimSpace(name) == "permessage-deflate" && acceptable(parameters) {
			return true
		}
	}
	return false
}

func acceptable(parameters string) bool {
	if strings.TrimSpace(parameters) == "" {
		return true
	}
	seen := map[string]bool{}
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, has := strings.Cut(strings.TrimSpace(p), "=")
		name, value = strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"`)
		if seen[name] {
			return false
		}
		seen[name] = true
		switch name {
		case "server_no_context_takeover", "client_no_context_takeover":
			if has {
				return false
			}
		case "server_max_window_bits":
			if value != "15" { // the compressor has one window
				return false
			}
		case "client_max_window_bits":
			if has && value != "15" && (len(value) != 1 || value < "8" || value > "9") && (len(value) != 2 || value < "10" || value > "15") {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// deflateTail ends each compressed message and is not sent. RFC 7692, section 7.2.1.
const deflateTail = "\x00\x00\xff\xff"

var deflaters = sync.Pool{New: func() any {
	d := &deflater{}
	d.w, _ = flate.NewWriter(&d.out, flate.BestSpeed) // the level is valid
	return d
}}

type deflater struct {
	w   *flate.Writer
	out bytes.Buffer
}

// AppendDeflated appends a frame with the message compressed.
func AppendDeflated(dst []byte, o Opcode, message []byte) []byte {
	d, _ := deflaters.Get().(*deflater)
	defer deflaters.Put(d)
	d.out.Reset()
	d.w.Reset(&d.out)
	_, _ = d.w.Write(message) // a bytes.Buffer has no error
	_ = d.w.Flush()
	body := bytes.TrimSuffix(d.out.Bytes(), []byte(deflateTail))
	return append(appendHeader(dst, 0xc0|byte(o), len(body)), body...)
}

var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// AppendInflated appends the message whose compressed form is p, if it has at most limit bytes.
func AppendInflated(dst, p []byte, limit int) ([]byte, error) {
	r, _ := inflaters.Get().(io.ReadCloser)
	defer inflaters.Put(r)
	source := io.MultiReader(bytes.NewReader(p), strings.NewReader(deflateTail+"\x01\x00\x00\xff\xff")) // an empty last block ends it
	if resetter, ok := r.(flate.Resetter); ok {
		_ = resetter.Reset(source, nil) // it has no error
	}
	start := len(dst)
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst)-start > limit:
			return dst[:start], &Error{TooLarge, fmt.Sprintf("a message of more than %d bytes", limit)}
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return dst[:start], &Error{InvalidText, "a message that cannot be decompressed"}
		}
	}
}
