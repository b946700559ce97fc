package target

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/ferry/internal/load"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/envelope"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/tcp"
)

type note struct {
	Text string `json:"text" cbor:"text" bson:"text" msgpack:"text" y3:"0x11"`
}

// TestRPC calls with each protocol and content type, and compares the counts of both sides.
func TestRPC(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: content.All()})
	rpc.Handle(srv, "a.Text.Echo", func(_ context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
		calls.Add(1)
		return in, nil
	})
	rpc.Handle(srv, "a.Note.Echo", func(_ context.Context, in *note) (*note, error) {
		calls.Add(1)
		if in.Text == "" {
			return nil, call.Errorf(call.InvalidArgument, "nothing")
		}
		return in, nil
	})
	rpc.Handle(srv, "a.Raw.Echo", func(_ context.Context, in *[]byte) (*[]byte, error) {
		calls.Add(1)
		return in, nil
	})
	rpc.Handle(srv, "a.Slow.Wait", func(ctx context.Context, _ *[]byte) (*[]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	defer srv.Close()
	for _, p := range []call.Protocol{native.Protocol{}, grpc.Protocol{}, jsonrpc.Protocol{}} {
		for _, tr := range []transport.Transport{tcp.New(nil), memory.New(nil)} {
			addr := "127.0.0.1:0"
			if tr.Scheme() == "memory" {
				addr = p.Name()
			}
			l, err := srv.Listen(t.Context(), p, tr, addr)
			if err != nil {
				t.Fatal(err)
			}
			if tr.Scheme() == "tcp" {
				addr = l.Addr().String()
			}
			for _, c := range content.All() {
				method, body := contentMessage(t, c)
				if p.Name() == "http" && c.Type != "application/json" && c.Type != "application/json-rpc" && c.Type != "application/jsonrpc2" {
					continue // its protocol is JSON-RPC
				}
				t.Run(fmt.Sprintf("%s over %s in %s", p.Name(), tr.Scheme(), c.Type), func(t *testing.T) {
					target := &RPC{Protocol: p, Transport: tr, Addr: addr, Conns: 2, Method: method, Content: c, Request: body}
					l, err := load.New(&load.Config{Workers: 5, Requests: 200}, target)
					if err != nil {
						t.Fatal(err)
					}
					before := calls.Load()
					r, err := l.Run(t.Context())
					if err != nil || r.OK != 200 || calls.Load()-before != 200 {
						t.Fatalf("%v, %+v, %d calls served, want 200", err, r, calls.Load()-before)
					}
					target = &RPC{Protocol: p, Transport: tr, Addr: addr, Method: method + "Not", Content: c, Request: body}
					if r := once(t, target, 3); r.Failed != 3 || r.Received != 3 || r.Failures[0].Kind != "UNIMPLEMENTED" {
						t.Errorf("no such method: %+v", r)
					}
				})
			}
			r := once(t, &RPC{Protocol: p, Transport: tr, Addr: addr, Method: "a.Slow.Wait", Content: envelope.Content{Type: "application/json"}, Request: []byte(`""`), Timeout: 20 * time.Millisecond}, 2)
			if r.Failed != 2 || r.Failures[0].Kind != "DEADLINE_EXCEEDED" && r.Failures[0].Kind != "UNIMPLEMENTED" {
				t.Errorf("%s: a slow method: %+v", p.Name(), r)
			}
		}
	}
}

// contentMessage returns a method that can be called with a content type, and its request.
func contentMessage(t *testing.T, c envelope.Content) (method string, body []byte) {
	t.Helper()
	var err error
	switch name := c.Codec.Name(); name {
	case "protobuf":
		method = "a.Text.Echo"
		body, err = proto.Marshal(wrapperspb.String("hello"))
	case "raw":
		return "a.Raw.Echo", []byte("hello")
	default:
		method = "a.Note.Echo"
		body, err = c.Codec.Marshal(&note{"hello"})
	}
	if err != nil {
		t.Fatalf("%s: %v", c.Type, err)
	}
	return method, body
}

// TestRPCReconnects checks that calls fail while the server is away, and work again after that.
func TestRPCReconnects(t *testing.T) {
	t.Parallel()
	tr := memory.New(nil)
	begin := func() *rpc.Server {
		srv := rpc.NewServer(&rpc.ServerConfig{Contents: content.All()})
		rpc.Handle(srv, "a.Raw.Echo", func(_ context.Context, in *[]byte) (*[]byte, error) { return in, nil })
		if _, err := srv.Listen(t.Context(), native.Protocol{}, tr, "a"); err != nil {
			t.Fatal(err)
		}
		return srv
	}
	raw, _ := content.ByType("application/octet-stream")
	target := &RPC{Protocol: native.Protocol{}, Transport: tr, Addr: "a", Method: "a.Raw.Echo", Content: raw, Request: []byte("x")}
	first := begin()
	c, err := target.Connect(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	first.Close()
	if err := c.Do(t.Context()); err == nil {
		t.Error("a call without a server: no error")
	}
	second := begin()
	defer second.Close()
	for try := 0; ; try++ { // the end of the first connection may be noticed late
		if err := c.Do(t.Context()); err == nil {
			break
		} else if try == 100 {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
