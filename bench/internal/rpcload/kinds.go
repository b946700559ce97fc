package rpcload

import "strings"

// kind is one Go type of messages: how to make a request, and what the server does with it.
type kind[T any] struct {
	request func() *T
	respond func(*T) *T
	verify  func(*T) error
}

var (
	protoKind = kind[Message]{NewMessage, respond, verify}
	plainKind = kind[Plain]{NewPlain, respondPlain, verifyPlain}
	rawKind   = rawOf(Size)
)

// requests returns a request for each worker.
func (k kind[T]) requests(s Spec) []*T {
	all := make([]*T, s.Workers)
	for i := range all {
		all[i] = k.request()
	}
	return all
}

// isProto reports whether the messages of a content type are protobuf.
func isProto(contentType string) bool {
	switch strings.TrimPrefix(contentType, "application/") {
	case "protobuf", "grpc", "grpc+proto", "proto-rpc":
		return true
	}
	return false
}

const rawType = "application/octet-stream"

// NewRequest returns the request of a content type, and a function that returns a variable to decode it into.
func NewRequest(contentType string) (request any, empty func() any) {
	switch {
	case isProto(contentType):
		return NewMessage(), func() any { return new(Message) }
	case contentType == rawType:
		return rawKind.request(), func() any { return new([]byte) }
	}
	return NewPlain(), func() any { return new(Plain) }
}
