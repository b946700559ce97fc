package echo

import (
	"context"
	"fmt"
	"strings"

	"example.com/ferry/rpc"
)

// The name of the method.
const (
	Service = "bench.Echo"
	Say     = "Say"
	Method  = Service + "." + Say
)

// Echo is the method with messages of one Go type.
type Echo interface {
	// Handle registers the method.
	Handle(srv *rpc.Server)
	// Caller returns a function for one worker, which makes a call and verifies the response. Calls of different workers may overlap.
	Caller(c *rpc.Client) func(ctx context.Context) error
	// Values returns a request, and a function that returns a variable to decode one into.
	Values() (request any, empty func() any)
}

// Of returns the method for the type that a content type carries.
func Of(contentType string) Echo {
	switch strings.TrimPrefix(contentType, "application/") {
	case "protobuf", "grpc", "grpc+proto", "proto-rpc":
		return Proto
	case "octet-stream":
		return RawOf(Size)
	}
	return Struct
}

// Kind is one Go type of messages: how to make a request, what the server does with it, and how the client verifies the response.
type Kind[T any] struct {
	Request func() *T
	Respond func(*T) *T
	Verify  func(*T) error
}

// The kinds of the message that has fields.
var (
	Proto  = Kind[Message]{NewMessage, Respond, Verify}
	Struct = Kind[Plain]{NewPlain, RespondPlain, VerifyPlain}
)

// Handle implements Echo.
func (k Kind[T]) Handle(srv *rpc.Server) {
	rpc.Handle(srv, Method, func(_ context.Context, in *T) (*T, error) { return k.Respond(in), nil })
}

// Caller implements Echo.
func (k Kind[T]) Caller(c *rpc.Client) func(ctx context.Context) error {
	request := k.Request()
	return func(ctx context.Context) error {
		out, err := rpc.Call[T](ctx, c, Method, request)
		if err != nil {
			return err
		}
		return k.Verify(out)
	}
}

// Values implements Echo.
func (k Kind[T]) Values() (request any, empty func() any) {
	return k.Request(), func() any { return new(T) }
}

// RawOf returns the kind of messages without an encoding, of size bytes. A handler changes the first byte.
func RawOf(size int) Kind[[]byte] {
	return Kind[[]byte]{
		Request: func() *[]byte {
			b := make([]byte, size)
			for i := range b {
				b[i] = byte(i)
			}
			return &b
		},
		Respond: func(b *[]byte) *[]byte {
			if len(*b) > 0 {
				(*b)[0] = okNumber
			}
			return b
		},
		Verify: func(b *[]byte) error {
			if len(*b) != size || (*b)[0] != okNumber || (*b)[size-1] != byte(size-1) {
				return fmt.Errorf("echo: wrong response of %d bytes, want %d: % .100x", len(*b), size, *b)
			}
			return nil
		},
	}
}
