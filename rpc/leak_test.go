package rpc_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
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

var failedCalls = flag.Int("failed", 1000, "calls of TestLeaks for each protocol")

// TestLeaks makes calls over real connections that fail in each way. Afterwards there are as many goroutines and descriptors as before,
// and the heap has not grown with the number of calls. Not parallel: it counts for the whole process.
func TestLeaks(t *testing.T) {
	for _, p := range []call.Protocol{native.Protocol{}, grpc.Protocol{}, jsonrpc.Protocol{}} {
		t.Run(p.Name(), func(t *testing.T) {
			leaks(t, p, 50) // pools and lazily started goroutines
			goroutines, descriptors, heap := runtime.NumGoroutine(), openDescriptors(t), heapInUse()
			leaks(t, p, *failedCalls)
			await(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= goroutines })
			await(t, "descriptors to be closed", func() bool { return openDescriptors(t) <= descriptors })
			if grown := heapInUse() - heap; grown > 8<<20 {
				t.Errorf("the heap has grown by %d KiB with %d calls", grown>>10, *failedCalls)
			}
		})
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // the first one empties the pools' other half only
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// openDescriptors returns the number of descriptors, or 0 where the system does not tell.
func openDescriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(all)
}

// leaks makes n calls that fail.
func leaks(t *testing.T, p call.Protocol, n int) {
	srv := rpc.NewServer(&rpc.ServerConfig{Log: quiet, MaxMessage: 1000, MaxCalls: 30})
	rpc.Handle(srv, hello, func(ctx context.Context, in *helloRequest) (*helloResponse, error) {
		switch in.Name {
		case "panic":
			panic("boom")
		case "wait":
			<-ctx.Done()
		case "large":
			return &helloResponse{strings.Repeat("x", 2000)}, nil
		}
		return nil, errors.New("boom")
	})
	l, err := srv.Listen(t.Context(), p, tcp.New(nil), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := rpc.Dial(t.Context(), "tcp://"+l.Addr().String(), &rpc.ClientConfig{Protocol: p, Idempotent: []string{hello}, Hedge: &rpc.Hedge{Delay: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 50 {
		wg.Go(func() {
			for i := range n / 50 {
				ctx, cancel := context.WithCancel(t.Context())
				method, timeout := hello, time.Minute
				kind := []string{"panic", "wait", "error", "large", strings.Repeat("x", 1500), "unknown", "cancel"}[(i+g)%7]
				switch kind {
				case "unknown":
					method = "greeter.Greeter.Unknown"
				case "wait":
					timeout = time.Millisecond
				case "cancel":
					kind = "wait"
					time.AfterFunc(time.Duration(i%3)*time.Millisecond, cancel)
				}
				if _, err := rpc.Call[helloResponse](ctx, c, method, &helloRequest{kind}, rpc.Timeout(timeout)); err == nil {
					t.Errorf("%s: no error", kind)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	await(t, "calls to end", func() bool {
		for _, m := range srv.Metrics().Methods {
			if m.InFlight != 0 {
				return false
			}
		}
		return true
	})
	for _, m := range c.Metrics().Methods {
		if m.InFlight != 0 {
			t.Errorf("%s: %d calls in flight after all have ended", m.Method, m.InFlight)
		}
	}
}

// TestFailedCallsLeakNothing: calls that fail in each way leave no goroutine and no call in flight.
func TestFailedCallsLeakNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		srv := rpc.NewServer(&rpc.ServerConfig{Log: quiet, MaxCalls: 50})
		rpc.Handle(srv, hello, func(ctx context.Context, in *helloRequest) (*helloResponse, error) {
			switch in.Name {
			case "panic":
				panic("boom")
			case "wait":
				<-ctx.Done()
			}
			return nil, errors.New("boom")
		})
		l := listen(t, p, srv, "a")
		c := dial(t, p, "a", &rpc.ClientConfig{Idempotent: []string{hello}, Hedge: &rpc.Hedge{Delay: time.Millisecond}})
		var wg sync.WaitGroup
		for g := range 20 {
			wg.Go(func() {
				for i := range 100 {
					name := []string{"panic", "wait", "error"}[i%3]
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
					method := hello
					if i%7 == 0 {
						method = fmt.Sprintf("greeter.Greeter.Made%dUp%d", g, i)
					}
					if _, err := rpc.Call[helloResponse](ctx, c, method, &helloRequest{name}); err == nil {
						t.Error("no error")
					}
					cancel()
				}
			})
		}
		wg.Wait()
		if err := l.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		for _, m := range append(c.Metrics().Methods, srv.Metrics().Methods...) {
			if m.InFlight != 0 {
				t.Errorf("%s: %d calls in flight", m.Method, m.InFlight)
			}
		}
		if n := len(c.Metrics().Methods); n > 4097 {
			t.Errorf("the client keeps counters of %d methods", n)
		}
	}) // synctest fails if goroutines are left
}
