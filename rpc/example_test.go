package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport/tcp"
)

type HelloRequest struct {
	Name string `json:"name"`
}

type HelloReply struct {
	Message string `json:"message"`
}

// The shortest program: JSON on the native wire over TCP.
func Example() {
	ctx := context.Background()
	srv := rpc.NewServer(nil)
	rpc.Handle(srv, "greeter.Greeter.Hello", func(_ context.Context, in *HelloRequest) (*HelloReply, error) {
		return &HelloReply{Message: "Hello, " + in.Name}, nil
	})
	l, err := srv.Listen(ctx, native.Protocol{}, tcp.New(nil), "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Drain(ctx)

	c, err := rpc.Dial(ctx, "tcp://"+l.Addr().String(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	out, err := rpc.Call[HelloReply](ctx, c, "greeter.Greeter.Hello", &HelloRequest{Name: "Bo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Message)
	// Output: Hello, Bo
}

// greeter returns a server of Hello and Count, and the address that it listens on.
func greeter(p call.Protocol, cfg *rpc.ServerConfig) (*rpc.Server, string) {
	srv := rpc.NewServer(cfg)
	rpc.Handle(srv, "greeter.Greeter.Hello", func(ctx context.Context, in *HelloRequest) (*HelloReply, error) {
		if in.Name == "" {
			return nil, call.Errorf(call.InvalidArgument, "the request has no name")
		}
		return &HelloReply{Message: "Hello, " + in.Name}, nil
	})
	rpc.HandleServerStream(srv, "greeter.Greeter.Repeat", func(_ context.Context, in *HelloRequest, out *rpc.Sender[HelloReply]) error {
		for range 3 {
			if err := out.Send(&HelloReply{Message: "Hello, " + in.Name}); err != nil {
				return err
			}
		}
		return nil
	})
	l, err := srv.Listen(context.Background(), p, tcp.New(nil), "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return srv, "tcp://" + l.Addr().String()
}

// An error of a handler has a code, which the caller can test.
func ExampleCall_errors() {
	ctx := context.Background()
	srv, addr := greeter(native.Protocol{}, nil)
	defer srv.Close()
	c, err := rpc.Dial(ctx, addr, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	_, err = rpc.Call[HelloReply](ctx, c, "greeter.Greeter.Hello", &HelloRequest{}, rpc.Timeout(5*time.Second))
	fmt.Println(errors.Is(err, &call.Status{Code: call.InvalidArgument}))
	fmt.Println(err)
	// Output:
	// true
	// INVALID_ARGUMENT: the request has no name
}

// The server sends a stream of messages.
func ExampleOpen() {
	ctx := context.Background()
	srv, addr := greeter(native.Protocol{}, nil)
	defer srv.Close()
	c, err := rpc.Dial(ctx, addr, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	s, err := rpc.Open[HelloReply, HelloRequest](ctx, c, "greeter.Greeter.Repeat")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Cancel()
	if err := errors.Join(s.Send(&HelloRequest{Name: "Bo"}), s.CloseSend()); err != nil {
		fmt.Println(err)
		return
	}
	for {
		out, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(out.Message)
	}
	// Output:
	// Hello, Bo
	// Hello, Bo
	// Hello, Bo
}

// Protocol and content type are values: gRPC with CBOR.
func ExampleDial() {
	ctx := context.Background()
	srv, addr := greeter(grpc.Protocol{}, &rpc.ServerConfig{Contents: content.All()})
	defer srv.Close()
	c, err := rpc.Dial(ctx, addr, &rpc.ClientConfig{
		Protocol: grpc.Protocol{},
		Contents: content.All(), Content: "application/cbor",
		Idempotent: []string{"greeter.Greeter.*"}, // may be tried again, and hedged
		Hedge:      &rpc.Hedge{},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	out, err := rpc.Call[HelloReply](ctx, c, "greeter.Greeter.Hello", &HelloRequest{Name: "Bo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Message)
	// Output: Hello, Bo
}

// An interceptor runs around each call, at a server or at a client.
func ExampleInterceptor() {
	ctx := context.Background()
	authorize := func(ctx context.Context, info *rpc.Info, next func(context.Context) error) error {
		if rpc.Header(ctx).Get("authorization") != "Bearer s3cret" {
			return call.Errorf(call.Unauthenticated, "%s needs a token", info.Method)
		}
		return next(ctx)
	}
	srv, addr := greeter(native.Protocol{}, &rpc.ServerConfig{Interceptors: []rpc.Interceptor{authorize}})
	defer srv.Close()
	c, err := rpc.Dial(ctx, addr, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for _, ctx := range []context.Context{ctx, rpc.WithMetadata(ctx, "authorization", "Bearer s3cret")} {
		_, err := rpc.Call[HelloReply](ctx, c, "greeter.Greeter.Hello", &HelloRequest{Name: "Bo"})
		fmt.Println(err)
	}
	// Output:
	// UNAUTHENTICATED: greeter.Greeter.Hello needs a token
	// <nil>
}

// spans is an Observer, as one for OpenTelemetry is: CallStarted begins a span, from the caller's traceparent at a server, and
// CallEnded ends it.
type spans struct{}

func (spans) CallStarted(ctx context.Context, info *rpc.Info) context.Context {
	fmt.Println("span", info.Method, "of", rpc.Header(ctx).Get("traceparent")[3:35])
	return ctx // with the span
}

func (spans) CallEnded(_ context.Context, _ *rpc.Info, end rpc.End) {
	fmt.Println("received", end.ReceivedBytes, "sent", end.SentBytes, "status", end.Status)
}

func ExampleObserver() {
	ctx := context.Background()
	srv, addr := greeter(native.Protocol{}, &rpc.ServerConfig{Observer: spans{}})
	c, err := rpc.Dial(ctx, addr, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx = rpc.WithMetadata(ctx, "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if _, err := rpc.Call[HelloReply](ctx, c, "greeter.Greeter.Hello", &HelloRequest{Name: "Bo"}); err != nil {
		fmt.Println(err)
	}
	if err := srv.Drain(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// span greeter.Greeter.Hello of 0af7651916cd43dd8448eb211c80319c
	// received 13 sent 23 status <nil>
}
