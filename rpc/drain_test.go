package rpc_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport/tcp"
)

// TestDrainUnderLoad drains servers and starts others in their place, while calls go on over real connections. No call is lost, although
// none is idempotent, and each runs once. HTTP/1.1 cannot tell whether a server that closes a connection has seen the request, so
// there the calls have to be idempotent.
func TestDrainUnderLoad(t *testing.T) {
	t.Parallel()
	for _, p := range []call.Protocol{native.Protocol{}, grpc.Protocol{}, jsonrpc.Protocol{}} {
		t.Run(p.Name(), func(t *testing.T) {
			t.Parallel()
			drainUnderLoad(t, p)
		})
	}
}

func drainUnderLoad(t *testing.T, p call.Protocol) {
	var handled atomic.Int64
	start := func(addr string) (*rpc.Server, net.Addr) {
		srv := rpc.NewServer(nil)
		rpc.Handle(srv, hello, func(ctx context.Context, in *helloRequest) (*helloResponse, error) {
			handled.Add(1)
			time.Sleep(2 * time.Millisecond)
			return sayHello(ctx, in)
		})
		l, err := srv.Listen(t.Context(), p, tcp.New(nil), addr)
		if err != nil {
			t.Fatal(err)
		}
		return srv, l.Addr()
	}
	var servers [2]*rpc.Server
	var addrs [2]net.Addr
	for i := range servers {
		servers[i], addrs[i] = start("127.0.0.1:0")
	}
	c, err := rpc.Dial(t.Context(), "tcp://"+addrs[0].String()+","+addrs[1].String(), &rpc.ClientConfig{Protocol: p})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var stop atomic.Bool
	var called atomic.Int64
	var opts []rpc.CallOption
	if p.Name() == "http" {
		opts = append(opts, rpc.Idempotent())
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for !stop.Load() {
				if _, err := greet(t.Context(), c, opts...); err != nil {
					t.Errorf("call %d: %v", called.Load(), err)
					return
				}
				called.Add(1)
			}
		})
	}
	for i := range 6 {
		await(t, "calls", func() bool { return called.Load() > int64(i+1)*100 || t.Failed() })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := servers[i%2].Drain(ctx); err != nil {
			t.Errorf("drain %d: %v", i, err)
		}
		cancel()
		servers[i%2], _ = start(addrs[i%2].String())
	}
	stop.Store(true)
	wg.Wait()
	if handled.Load() != called.Load() && opts == nil {
		t.Errorf("%d calls ran %d times", called.Load(), handled.Load())
	}
	for _, srv := range servers {
		if err := srv.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}
