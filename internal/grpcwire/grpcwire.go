// Package grpcwire is what gRPC puts into HTTP/2: the prefixes of messages, content types, and the fields of a status. The protocol of calls
// (rpc/grpc) and the transport (transport/grpc) share it. doc/PROTOCOL-HTTP2.md of gRPC.
package grpcwire

import (
	"encoding/binary"
	"strconv"
	"strings"

	"example.com/ferry/protocol/http2"
)

const (
	// ALPN is the name of HTTP/2 in TLS. Clients of other implementations refuse servers that do not choose it.
	ALPN = "h2"

	// ContentType is what all content types of gRPC begin with.
	ContentType = "application/grpc"

	// PrefixSize is the length of a message's prefix: a flag, which is 1 if the message is compressed, and the length in 4 bytes, big-endian.
	PrefixSize = 5
)

// PutPrefix writes the prefix of a message to p.
func PutPrefix(p []byte, compressed bool, length int) {
	p[0] = 0
	if compressed {
		p[0] = 1
	}
	binary.BigEndian.PutUint32(p[1:], uint32(length))
}

// Prefix returns the prefix of a message, of which p has all bytes.
func Prefix(p []byte) (flag byte, length uint32) { return p[0], binary.BigEndian.Uint32(p[1:]) }

// MediaType returns a content-type without its parameters, in lower case, and the encoding of messages that follows +, or "". ok is false if the
// type is not gRPC's.
func MediaType(field string) (wire, encoding string, ok bool) {
	wire, _, _ = strings.Cut(field, ";")
	wire = strings.ToLower(strings.TrimSpace(wire))
	rest, ok := strings.CutPrefix(wire, ContentType)
	switch {
	case !ok || !Printable(rest):
		return "", "", false
	case rest == "":
		return wire, "", true
	}
	encoding, ok = strings.CutPrefix(rest, "+")
	return wire, encoding, ok && encoding != ""
}

// IsGRPC reports whether the content-type of a head is gRPC's.
func IsGRPC(h *http2.Head) bool {
	field := h.Get("content-type")
	if string(field) == ContentType {
		return true
	}
	_, _, ok := MediaType(string(field))
	return ok
}

// Printable reports whether s is printable ASCII.
func Printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// WriteStatus writes grpc-status and grpc-message.
func WriteStatus(e *http2.Encoder, code uint32, message string) {
	if code == 0 {
		e.FieldString("grpc-status", "0")
		return
	}
	e.FieldString("grpc-status", strconv.FormatUint(uint64(code), 10))
	if message != "" {
		e.Field([]byte("grpc-message"), AppendPercent(nil, message))
	}
}

// Status is the status in a head.
type Status struct {
	Count   int    // of fields grpc-status; without one, the others are not set
	Text    []byte // of grpc-status
	Code    uint32
	Valid   bool // Text is a number
	Message string
	Details []byte // of grpc-status-details-bin
}

// ReadStatus returns the status that a head has. Its slices are views of the head. Message and Details are only set if Code is not 0.
func ReadStatus(h *http2.Head) (s Status) {
	var message []byte
	for i := range h.Len() {
		switch name, value := h.Field(i); string(name) {
		case "grpc-status":
			s.Text = value
			s.Count++
		case "grpc-message":
			message = value
		case "grpc-status-details-bin":
			s.Details = value
		}
	}
	if string(s.Text) == "0" {
		return Status{Count: s.Count, Text: s.Text, Valid: true}
	}
	n, err := strconv.ParseUint(string(s.Text), 10, 32)
	if s.Code, s.Valid = uint32(n), err == nil; s.Code != 0 {
		s.Message = ReadPercent(message)
	}
	return s
}

const hexDigits = "0123456789ABCDEF"

// PercentSize returns how many bytes percent-encoding makes of c within a text.
func PercentSize(c byte) int {
	if c < ' ' || c > '~' || c == '%' {
		return 3
	}
	return 1
}

// AppendPercent appends text with all bytes percent-encoded that are no printable ASCII, and %.
func AppendPercent(dst []byte, text string) []byte {
	for i := range len(text) {
		c := text[i]
		if PercentSize(c) > 1 || c == ' ' && (i == 0 || i == len(text)-1) { // HTTP/2 allows no space at an end
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// ReadPercent decodes what AppendPercent has encoded. A % without two hexadecimal digits stands for itself.
func ReadPercent(p []byte) string {
	out := make([]byte, 0, len(p))
	for i := 0; i < len(p); i++ {
		if p[i] == '%' && i+2 < len(p) {
			if n, err := strconv.ParseUint(string(p[i+1:i+3]), 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, p[i])
	}
	return string(out)
}
