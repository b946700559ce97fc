package jsonrpc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/envelope"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/transport"
	"example.com/ferry/transport/tcp"
)

type helloRequest struct {
	Name string `json:"name"`
}

type helloReply struct {
	Message string `json:"message"`
}

// limit bounds whatever a test waits for.
const limit = 30 * time.Second

// contents are the content types of the protocol.
func contents(t testing.TB) (all []envelope.Content) {
	t.Helper()
	for _, name := range []string{"application/json", "application/json-rpc", "application/jsonrpc2"} {
		c, ok := content.ByType(name)
		if !ok {
			t.Fatalf("no content type %s", name)
		}
		all = append(all, c)
	}
	return all
}

// newServer returns a server with methods for the tests.
func newServer(t testing.TB) *rpc.Server {
	t.Helper()
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: contents(t)})
	rpc.Handle(srv, "greeter.Greeter.Hello", func(ctx context.Context, in *helloRequest) (*helloReply, error) {
		if in.Name == "" {
			return nil, call.Errorf(call.InvalidArgument, "name is empty")
		}
		return &helloReply{"Hello, " + in.Name}, nil
	})
	rpc.Handle(srv, "greeter.Greeter.Repeat", func(ctx context.Context, in *helloRequest) (*helloReply, error) {
		return &helloReply{strings.Repeat(in.Name, 1000)}, nil
	})
	rpc.Handle(srv, "greeter.Greeter.Fail", func(context.Context, *helloRequest) (*helloReply, error) {
		return nil, &call.Status{Code: call.NotFound, Message: "no user 5", Details: []call.Detail{{Type: "a.B", Value: []byte{1, 2}}}}
	})
	rpc.Handle(srv, "greeter.Greeter.Echo", func(ctx context.Context, in *helloRequest) (*helloReply, error) {
		var fields []string
		for _, f := range rpc.Header(ctx) {
			if strings.HasPrefix(f.Name, "x-") {
				fields = append(fields, f.Name+"="+f.Value)
			}
		}
		err := errors.Join(rpc.SetHeader(ctx, "x-head", "h"), rpc.SetHeader(ctx, "x-head-bin", "\x00\xff"), rpc.SetTrailer(ctx, "x-tail", "t"))
		return &helloReply{strings.Join(fields, " ")}, err
	})
	rpc.Handle(srv, "greeter.Greeter.Wait", func(ctx context.Context, in *helloRequest) (*helloReply, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	rpc.Handle(srv, "greeter.Greeter.Sum", func(ctx context.Context, in *[]int) (*int, error) {
		sum := 0
		for _, n := range *in {
			sum += n
		}
		return &sum, nil
	})
	rpc.HandleServerStream(srv, "greeter.Greeter.Stream", func(context.Context, *helloRequest, *rpc.Sender[helloReply]) error { return nil })
	rpc.Handle(srv, "a.Clock.Now", func(context.Context, *helloRequest) (*helloReply, error) { return &helloReply{"a"}, nil })
	rpc.Handle(srv, "b.Clock.Now", func(context.Context, *helloRequest) (*helloReply, error) { return &helloReply{"b"}, nil })
	return srv
}

// listen serves srv and returns the address.
func listen(t testing.TB, srv *rpc.Server, p call.Protocol) (addr string, l call.Listener) {
	t.Helper()
	l, err := srv.Listen(t.Context(), p, tcp.New(nil), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String(), l
}

// dial returns a client of addr.
func dial(t testing.TB, addr string) *rpc.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c, err := rpc.Dial(ctx, "tcp://"+addr, &rpc.ClientConfig{Protocol: jsonrpc.Protocol{}, Contents: contents(t), Transports: []transport.Transport{tcp.New(nil)}, Timeout: limit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
