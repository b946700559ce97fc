package jsonrpc

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/rpc/call"
)

const (
	timeoutField  = "Ferry-Timeout-Ms"
	drainingField = "Ferry-Draining" // set in the responses of a server that drains
	trailerPrefix = "trailer-"
)

// httpFields are the header fields of HTTP itself. They are not metadata. RFC 9110, sections 6 to 12.
var httpFields = []string{
	"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "date", "expect", "host", "keep-alive",
	"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
}

// isReserved reports whether name is no name of metadata.
func isReserved(name string) bool {
	return strings.HasPrefix(name, "ferry-") || strings.HasPrefix(name, "grpc-") || slices.Contains(httpFields, name)
}

// metadataOf returns the metadata in header: the fields whose names begin with prefix if trailer is set, otherwise all others.
func metadataOf(header http.Header, trailer bool) (call.Metadata, error) {
	var m call.Metadata
	for field, values := range header {
		name, inTrailer := strings.CutPrefix(strings.ToLower(field), trailerPrefix)
		if inTrailer != trailer || isReserved(name) {
			continue
		}
		for _, v := range values {
			if strings.HasSuffix(name, "-bin") {
				data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
				if err != nil {
					return nil, call.Errorf(call.InvalidArgument, "jsonrpc: header field %s is not base64: %.64q", name, v)
				}
				v = string(data)
			}
			m = append(m, call.Field{Name: name, Value: v})
		}
	}
	slices.SortStableFunc(m, func(a, b call.Field) int { return strings.Compare(a.Name, b.Name) }) // a map has no order
	return m, nil
}

// addMetadata adds m to header, each name behind prefix. It returns an error for a field that HTTP cannot carry.
func addMetadata(header http.Header, prefix string, m call.Metadata) error {
	for _, f := range m {
		value := f.Value
		if strings.HasSuffix(f.Name, "-bin") {
			value = base64.RawStdEncoding.EncodeToString([]byte(value))
		}
		if isReserved(f.Name) || strings.HasPrefix(f.Name, trailerPrefix) || !isName(f.Name) || !isPrintable(value) {
			return call.Errorf(call.InvalidArgument, "jsonrpc: metadata %.64q cannot be a header field: use a name of letters, digits, - _ . that HTTP does not use, and printable ASCII or the suffix -bin", f.Name)
		}
		header.Add(prefix+f.Name, value)
	}
	return nil
}

// maxResponseMetadata bounds the header and the trailer of a response, each in bytes, so that clients accept its head.
const maxResponseMetadata = maxHeader/2 - 2<<10

// checkResponseMetadata returns an error for metadata that the head of a response cannot carry.
func checkResponseMetadata(m call.Metadata) error {
	header, size := http.Header{}, 0
	if err := addMetadata(header, "", m); err != nil {
		return err
	}
	for name, values := range header {
		for _, v := range values {
			size += len(trailerPrefix) + len(name) + len(v) + len(": \r\n")
		}
	}
	if size > maxResponseMetadata {
		return call.Errorf(call.InvalidArgument, "jsonrpc: metadata of %d bytes: at most %d travel with a response", size, maxResponseMetadata)
	}
	return nil
}

// isName reports whether name may be a name of metadata.
func isName(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return name != ""
}

func isPrintable(value string) bool {
	for _, c := range []byte(value) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// formatTimeout writes the time until deadline, at least one millisecond.
func formatTimeout(deadline time.Time) string {
	ms := (time.Until(deadline) + time.Millisecond - 1).Milliseconds()
	return strconv.FormatInt(max(ms, 1), 10)
}

// maxTimeout bounds what a caller may ask for, so that adding it to a time cannot overflow.
const maxTimeout = 365 * 24 * time.Hour

// deadlineOf returns the deadline that header asks for, or the zero time.
func deadlineOf(header http.Header) (time.Time, error) {
	text := header.Get(timeoutField)
	if text == "" {
		return time.Time{}, nil
	}
	ms, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return time.Time{}, call.Errorf(call.InvalidArgument, "jsonrpc: header field %s is %.32q: want milliseconds", timeoutField, text)
	}
	return time.Now().Add(time.Duration(min(ms, uint64(maxTimeout/time.Millisecond))) * time.Millisecond), nil
}
