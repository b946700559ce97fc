package rpc

import (
	"context"
	"reflect"

	"example.com/ferry/cpu"
	"example.com/ferry/rpc/call"
)

// A MethodOption configures one method of a Server.
type MethodOption func(*method)

// Heavy runs the handler in pool, so that heavy handlers leave the cores to others in time. The handler passes its context to
// cpu.Checkpoint. Calls that find the pool's queue full end with ResourceExhausted.
func Heavy(pool *cpu.Pool) MethodOption { return func(m *method) { m.pool = pool } }

// MaxCalls limits the calls of the method that are in progress at once. Further calls end with ResourceExhausted.
func MaxCalls(n int) MethodOption { return func(m *method) { m.maxCalls = int64(n) } }

// Handle registers the handler of a unary method. name is the service, a dot and the method: greeter.Greeter.Hello.
//
// The handler may run many times at once. Its context ends with the call: Header, Peer, SetHeader and SetTrailer take it, and
// calls made with it carry on its trace. Its error is a *call.Status (see call.Errorf), or becomes one (see call.StatusOf). A
// panic becomes Internal. Errors of Handle, such as a type that no content can carry, are returned by Server.Listen.
func Handle[In, Out any](s *Server, name string, handler func(ctx context.Context, in *In) (*Out, error), opts ...MethodOption) {
	m := newMethod[In, Out](name, opts)
	m.begin = beginWithRequest[In]
	m.handle = func(ctx context.Context, c *serverCall) (any, error) {
		return oneResponse(handler(ctx, c.request.(*In)))
	}
	s.add(m)
}

// HandleServerStream registers a method whose server sends any number of messages. The call ends when the handler returns.
func HandleServerStream[In, Out any](s *Server, name string, handler func(ctx context.Context, in *In, out *Sender[Out]) error, opts ...MethodOption) {
	m := newMethod[In, Out](name, opts)
	m.serverStreams = true
	m.begin = beginWithRequest[In]
	m.handle = func(ctx context.Context, c *serverCall) (any, error) {
		return nil, handler(ctx, c.request.(*In), &Sender[Out]{c})
	}
	s.add(m)
}

// HandleClientStream registers a method whose client sends any number of messages.
func HandleClientStream[In, Out any](s *Server, name string, handler func(ctx context.Context, in *Receiver[In]) (*Out, error), opts ...MethodOption) {
	m := newMethod[In, Out](name, opts)
	m.clientStreams = true
	m.begin = func() *serverCall { return new(serverCall) }
	m.handle = func(ctx context.Context, c *serverCall) (any, error) {
		return oneResponse(handler(ctx, &Receiver[In]{c}))
	}
	s.add(m)
}

// HandleBidi registers a method whose client and server send any number of messages, in any order. One goroutine may receive while
// another sends. Both must have returned when the handler returns.
func HandleBidi[In, Out any](s *Server, name string, handler func(ctx context.Context, in *Receiver[In], out *Sender[Out]) error, opts ...MethodOption) {
	m := newMethod[In, Out](name, opts)
	m.clientStreams, m.serverStreams = true, true
	m.begin = func() *serverCall { return new(serverCall) }
	m.handle = func(ctx context.Context, c *serverCall) (any, error) {
		return nil, handler(ctx, &Receiver[In]{c}, &Sender[Out]{c})
	}
	s.add(m)
}

func newMethod[In, Out any](name string, opts []MethodOption) *method {
	m := &method{name: name, request: reflect.TypeFor[In](), response: reflect.TypeFor[Out]()}
	for _, opt := range opts {
		opt(m)
	}
	return m
}

// beginWithRequest allocates a call and its request together.
func beginWithRequest[In any]() *serverCall {
	c := new(struct {
		serverCall
		in In
	})
	c.request = &c.in
	return &c.serverCall
}

// oneResponse turns a handler's results into those of method.handle. A nil *Out in an any would not be nil.
func oneResponse[Out any](out *Out, err error) (any, error) {
	switch {
	case err != nil:
		return nil, err
	case out == nil:
		return nil, statusf(call.Internal, "the handler returned neither a response nor an error")
	}
	return out, nil
}
