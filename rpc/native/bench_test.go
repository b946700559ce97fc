package native_test

import (
	"context"
	"sync"
	"testing"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport/tcp"
)

// echo is a service whose methods return the request.
type echo struct{}

func (echo) Method(name string) call.Method { return echoMethod(name) }
func (echo) Serve(_ context.Context, _ call.Method, s call.ServerStream) {
	data, err := s.Recv()
	s.Finish(data, call.StatusOf(err), nil)
}

type echoMethod string

func (m echoMethod) Name() string          { return string(m) }
func (m echoMethod) Shape() (in, out bool) { return false, false }

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
