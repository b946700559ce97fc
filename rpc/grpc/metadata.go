package grpc

import (
	"bytes"
	"encoding/base64"
	"strings"

	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc/call"
)

// reserved reports whether a field belongs to the protocol or to HTTP, so it is no metadata.
func reserved[T string | []byte](name T) bool {
	if len(name) > 5 && string(name[:5]) == "grpc-" {
		return string(name) != "grpc-trace-bin" && string(name) != "grpc-tags-bin" // the context of OpenCensus, which applications pass on
	}
	switch string(name) {
	case "content-type", "te", "user-agent", "host", "content-length", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return true
	}
	return false
}

// writeMetadata writes the fields of m, which Check has accepted. HTTP/2 has no values with spaces at the ends, so these are cut.
func writeMetadata(e *http2.Encoder, m call.Metadata) {
	for i := range m {
		f := &m[i]
		if strings.HasSuffix(f.Name, call.BinarySuffix) {
			e.FieldString(f.Name, base64.RawStdEncoding.EncodeToString([]byte(f.Value)))
		} else {
			e.FieldString(f.Name, strings.Trim(f.Value, " "))
		}
	}
}

// maxValues is the largest number of values in the metadata of a head. A head has at most that many fields, but one binary field may
// have a value for each of its bytes.
const maxValues = http2.DefaultMaxFields

// readMetadata returns the metadata of a head. ok is false if a binary value is not base64, or if there are more than maxValues. All names
// and values lie in one piece of memory.
func readMetadata(h *http2.Head) (m call.Metadata, ok bool) {
	count, size := 0, 0
	for i := range h.Len() {
		if name, value := h.Field(i); !reserved(name) {
			count++
			size += len(name) + len(value)
		}
	}
	if count == 0 {
		return nil, true
	}
	m = make(call.Metadata, 0, count)
	var text strings.Builder
	text.Grow(size)
	add := func(p []byte) string {
		start := text.Len()
		text.Write(p)
		return text.String()[start:]
	}
	for i := range h.Len() {
		name, value := h.Field(i)
		switch {
		case reserved(name):
		case bytes.HasSuffix(name, []byte(call.BinarySuffix)):
			if m, ok = readBinary(m, add(name), value, add); !ok {
				return nil, false
			}
		default:
			m = append(m, call.Field{Name: add(name), Value: add(value)})
		}
	}
	return m, true
}

// readBinary appends the values of a binary field: one, or several separated by commas, with or without padding.
func readBinary(m call.Metadata, name string, value []byte, add func([]byte) string) (call.Metadata, bool) {
	for more := true; more; {
		var one []byte
		one, value, more = bytes.Cut(value, []byte(","))
		if len(m) == maxValues {
			return nil, false
		}
		one = bytes.TrimRight(bytes.Trim(one, " "), "=")
		raw := make([]byte, base64.RawStdEncoding.DecodedLen(len(one)))
		if _, err := base64.RawStdEncoding.Decode(raw, one); err != nil {
			return nil, false
		}
		m = append(m, call.Field{Name: name, Value: add(raw)})
	}
	return m, true
}
