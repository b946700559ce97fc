package native_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport/tcp"
)

// echo is a service with a unary method Say, and a method Repeat with streams, which return what they get, and Wait, which returns when the
// caller has cancelled it.
type echo struct{}

func (echo) Method(name string) call.Method {
	switch m := echoMethod(name[strings.LastIndexByte(name, '.')+1:]); m {
	case "Say", "Repeat", "Wait":
		return m
	}
	return nil
}

func (echo) Serve(ctx context.Context, m call.Method, s call.ServerStream) {
	if m == nil {
		s.Finish(nil, &call.Status{Code: call.Unimplemented, Message: "no method " + s.Head().Method}, nil)
		return
	}
	switch m.Name() {
	case "Wait":
		<-ctx.Done()
		s.Finish(nil, call.StatusOf(ctx.Err()), nil)
		return
	case "Repeat":
		for {
			data, err := s.Recv()
			if err != nil {
				s.Finish(nil, call.StatusOf(err), nil)
				return
			}
			_ = s.Send(data)
		}
	}
	data, err := s.Recv()
	s.Finish(data, call.StatusOf(err), nil)
}

type echoMethod string

func (m echoMethod) Name() string          { return string(m) }
func (m echoMethod) Shape() (in, out bool) { return m == "Repeat", m == "Repeat" }

// BenchmarkUnary makes calls with 581 bytes over 4 connections, with 25 of them in progress on each, and client and server in this process.
func BenchmarkUnary(b *testing.B) {
	l, err := native.Protocol{}.Listen(b.Context(), tcp.New(nil), "127.0.0.1:0", echo{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	const conns, callers = 4, 25
	var all sync.WaitGroup
	for range conns {
		conn, err := native.Protocol{}.Dial(b.Context(), tcp.New(nil), l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close(b.Context())
		share := b.N / conns / callers
		for range callers {
			all.Go(func() {
				head := &call.Head{Method: "bench.Echo.Say", Content: "application/octet-stream"}
				data := make([]byte, 581)
				for range share {
					var resp call.Response
					if err := conn.Call(context.Background(), head, data, &resp); err != nil {
						b.Error(err)
						return
					}
					resp.Release()
				}
			})
		}
	}
	all.Wait()
}
