package edge

import (
	"net/http"
	"strconv"

	"example.com/ferry/protocol/http1"
)

// MaxHead bounds the head of a request of HTTP, in bytes.
const MaxHead = 16 << 10

// HeadLimits bound the heads of requests of HTTP.
var HeadLimits = &http1.Limits{MaxHead: MaxHead}

// Refusal is why a request of HTTP is refused.
type Refusal struct {
	Status       int
	Code, Reason string // in the body: see Problem
	Fields       string // of the response, each with its CRLF
}

// AppendStatus appends the first line of a response.
func AppendStatus(b []byte, status int) []byte {
	b = append(strconv.AppendInt(append(b, "HTTP/1.1 "...), int64(status), 10), ' ')
	return append(append(b, http.StatusText(status)...), "\r\n"...)
}

// AppendBody appends the fields of a body, the end of the head, and the body.
func AppendBody(b []byte, mediaType string, body []byte, withBody bool) []byte {
	if mediaType != "" {
		b = append(append(append(b, "Content-Type: "...), mediaType...), "\r\n"...)
	}
	b = append(strconv.AppendInt(append(b, "Content-Length: "...), int64(len(body)), 10), "\r\n\r\n"...)
	if withBody {
		b = append(b, body...)
	}
	return b
}

// Problem returns the body of an error.
func Problem(code, reason string) []byte {
	b := append([]byte(`{"error":{"code":`), AppendString(nil, code)...)
	b = AppendString(append(b, `,"reason":`...), reason)
	return append(b, "}}\n"...)
}

const hex = "0123456789abcdef"

// AppendString appends s as a JSON string (RFC 8259, section 7). Bytes that are not UTF-8 become U+FFFD.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, string(c)...)
		}
	}
	return append(b, '"')
}
