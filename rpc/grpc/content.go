package grpc

import (
	"strings"

	"example.com/ferry/internal/grpcwire"
	"example.com/ferry/rpc/call"
)

// A suffix after + names the encoding of the messages of a content type of gRPC; without one they are Protocol Buffers.
const (
	contentPrefix   = "application/"
	protobufContent = "application/protobuf"
)

// wireType returns the content-type of HTTP/2 for messages of a content type.
func wireType(content string) (string, *call.Status) {
	name, ok := strings.CutPrefix(content, contentPrefix)
	switch {
	case content == protobufContent:
		return grpcwire.ContentType, nil
	case ok && name != "" && grpcwire.Printable(name):
		return grpcwire.ContentType + "+" + name, nil
	}
	return "", statusf(call.InvalidArgument, "grpc: content type %q cannot be named in gRPC: choose one that begins with %s", content, contentPrefix)
}

// received is a content-type that a peer has sent.
type received struct {
	field   string // as it came
	content string // content type of the messages
	wire    string // the same type without parameters, in lower case: a response to it has this one
}

// contentCache holds the last content types of a connection, which rarely change, so each is converted once. What is received and what is
// sent do not mix: calls of several clients may come over one connection, each with its own spelling.
type contentCache struct {
	in            received
	sent, sentFor string
}

// received returns what a received field says. ok is false if it is not gRPC's.
func (c *contentCache) received(field []byte) (r received, ok bool) {
	if string(field) == c.in.field && c.in.content != "" {
		return c.in, true
	}
	r.field = string(field)
	var encoding string
	if r.wire, encoding, ok = grpcwire.MediaType(r.field); !ok {
		return r, false
	}
	if r.content = protobufContent; encoding != "" && encoding != "proto" {
		r.content = contentPrefix + encoding
	}
	c.in = r
	return r, true
}

// toSend returns the field to send for a content type.
func (c *contentCache) toSend(content string) (string, *call.Status) {
	if content == c.sentFor && content != "" {
		return c.sent, nil
	}
	wire, err := wireType(content)
	if err == nil {
		c.sent, c.sentFor = wire, content
	}
	return wire, err
}
