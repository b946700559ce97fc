package rpc_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
	c, err := rpc.Dial(t.Context(), "tcp://"+addrs[0].String()+","+addrs[1].String(), &rpc.ClientConfig{Protocol: p, WaitForReady: true})
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

// TestDrainLosesNoCall: servers are stopped and started in turn while calls go on. Each call succeeds, although none is idempotent.
func TestDrainLosesNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		slow := func() *rpc.Server {
			srv := rpc.NewServer(nil)
			rpc.Handle(srv, hello, func(context.Context, *helloRequest) (*helloResponse, error) {
				time.Sleep(20 * time.Millisecond)
				return &helloResponse{"done"}, nil
			})
			return srv
		}
		servers := map[string]*rpc.Server{}
		for _, addr := range []string{"a", "b"} {
			servers[addr] = slow()
			listen(t, p, servers[addr], addr)
		}
		c := dial(t, p, "a,b", nil)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var done atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for ctx.Err() == nil {
					if _, err := greet(t.Context(), c); err != nil {
						t.Errorf("after %d calls: %v", done.Load(), err)
						return
					}
					done.Add(1)
				}
			})
		}
		for i := range 9 {
			addr := []string{"a", "b"}[i%2]
			time.Sleep(500 * time.Millisecond)
			if err := servers[addr].Drain(t.Context()); err != nil {
				t.Errorf("drain: %v", err)
			}
			servers[addr] = slow()
			listen(t, p, servers[addr], addr)
		}
		wg.Wait()
		if done.Load() < 2000 {
			t.Errorf("only %d calls", done.Load())
		}
	})
}

// TestDrainDeadline: Drain gives up when its context ends, and closes the open connections.
func TestDrainDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		srv := rpc.NewServer(nil)
		rpc.Handle(srv, hello, func(ctx context.Context, _ *helloRequest) (*helloResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		listen(t, p, srv, "a")
		c := dial(t, p, "a", nil)
		result := make(chan error, 1)
		go func() {
			_, err := greet(t.Context(), c)
			result <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := srv.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain: got %v, want DeadlineExceeded", err)
		}
		if err := <-result; !errors.Is(err, &call.Status{Code: call.Unavailable}) {
			t.Errorf("the call: got %v, want Unavailable", err)
		}
		if _, err := srv.Listen(t.Context(), p, nil, "b"); err == nil {
			t.Error("a drained server listens again")
		}
	})
}

// TestPatience: calls wait for a server that has just gone, and fail if it does not return within 2 s.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		l := listen(t, p, named("a"), "a")
		c := dial(t, p, "a", nil)
		for _, row := range []struct {
			gone, waits time.Duration
			lost        bool
		}{{time.Second / 2, time.Second / 2, false}, {time.Minute, 2 * time.Second, true}} {
			l.Close()
			returned := make(chan *directListener)
			go func() {
				time.Sleep(row.gone)
				returned <- listen(t, p, named("a"), "a")
			}()
			start := time.Now()
			_, err := greet(t.Context(), c)
			// It may wait for the backoff, too.
			if took := time.Since(start); (err != nil) != row.lost || took < row.waits || took > 4*row.waits {
				t.Errorf("the server is gone for %v: got %v after %v", row.gone, err, took)
			}
			l = <-returned
			time.Sleep(time.Minute)
			if _, err := greet(t.Context(), c); err != nil {
				t.Errorf("after its return: %v", err)
			}
		}
	})
}
