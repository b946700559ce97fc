package grpc

import (
	"strings"

	"example.com/ferry/rpc/call"
)

// The content types of gRPC begin with wirePrefix. A suffix after + names the encoding of the messages; without one they are Protocol
// Buffers.
const (
	wirePrefix    = "application/grpc"
	contentPrefix = "application/"
	protobuf      = "application/protobuf"
)

// wireType returns the content-type of HTTP/2 for messages of a content type.
func wireType(content string) (string, *call.Status) {
	name, ok := strings.CutPrefix(content, contentPrefix)
	switch {
	case content == protobuf:
		return wirePrefix, nil
	case ok && name != "" && printable(name):
		return wirePrefix + "+" + name, nil
	}
	return "", statusf(call.InvalidArgument, "grpc: content type %q cannot be named in gRPC: choose one that begins with %s", content, contentPrefix)
}

// contentType returns the content type of messages for a content-type of HTTP/2. ok is false if it is not gRPC's.
func contentType(wire string) (content string, ok bool) {
	wire, _, _ = strings.Cut(wire, ";") // parameters have no meaning
	rest, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(wire)), wirePrefix)
	switch {
	case !ok || rest != "" && rest[0] != '+' || rest == "+" || !printable(rest):
		return "", false
	case rest == "" || rest == "+proto":
		return protobuf, true
	}
	return contentPrefix + rest[1:], true
}

// contentCache holds the last content type of a connection, which rarely changes, so it is converted once.
type contentCache struct{ wire, content string }

// received returns the content type of messages for a received field.
func (c *contentCache) received(wire []byte) (content string, ok bool) {
	if string(wire) == c.wire {
		return c.content, true
	}
	s := string(wire)
	if content, ok = contentType(s); ok {
		c.wire, c.content = s, content
	}
	return content, ok
}

// toSend returns the field to send for a content type.
func (c *contentCache) toSend(content string) (string, *call.Status) {
	if content == c.content && content != "" {
		return c.wire, nil
	}
	wire, err := wireType(content)
	if err == nil {
		c.wire, c.content = wire, content
	}
	return wire, err
}
