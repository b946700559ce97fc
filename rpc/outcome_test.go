package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
)

const odd = "greeter.Greeter.Odd"

// TestCallersDoNotEject: nothing that a caller causes takes calls away from healthy servers, however often it happens.
func TestCallersDoNotEject(t *testing.T) {
	for _, row := range []struct {
		name   string
		handle func() error
		opts   []rpc.CallOption
	}{
		{name: "larger than the client's limit"},
		{name: "a quota", handle: func() error { return call.Errorf(call.ResourceExhausted, "the quota of 5 a day is used up") }},
		{name: "an invalid argument", handle: func() error { return call.Errorf(call.InvalidArgument, "no name") }},
		{name: "not found", handle: func() error { return call.Errorf(call.NotFound, "no user") }},
		{name: "an error of the handler at all servers", handle: func() error { return errors.New("no such column") }},
		{name: "a panic of the handler at all servers", handle: func() error { panic("a poisonous request") }},
		{name: "a short deadline", handle: func() error { time.Sleep(5 * time.Millisecond); return nil }, opts: []rpc.CallOption{rpc.Timeout(time.Millisecond)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newDirect()
				for _, name := range []string{"a", "b"} {
					srv := named(name)
					rpc.Handle(srv, odd, func(context.Context, *helloRequest) (*helloResponse, error) {
						if row.handle != nil {
							return &helloResponse{name}, row.handle()
						}
						return &helloResponse{strings.Repeat("x", 1000)}, nil
					})
					listen(t, p, srv, name)
				}
				c := dial(t, p, "a,b", &rpc.ClientConfig{Policy: rpc.RoundRobin, MaxMessage: 500})
				synctest.Wait()
				for range 200 {
					if _, err := rpc.Call[helloResponse](t.Context(), c, odd, &helloRequest{"Bo"}, row.opts...); err == nil {
						t.Fatal("no error")
					}
				}
				if _, err := rpc.Call[helloResponse](t.Context(), c, "greeter.Greeter.Nothing", &helloRequest{"Bo"}, row.opts...); err == nil {
					t.Fatal("no error of an unknown method")
				}
				time.Sleep(20 * time.Millisecond)
				if got := tally(t, c, 100); got["a"] != 50 || got["b"] != 50 {
					t.Errorf("the calls of another method go to %v, want half to each", got)
				}
			})
		})
	}
}

// TestFailingHandler: a server whose handler fails at once gets few calls, whatever the policy, with unary calls and streams.
func TestFailingHandler(t *testing.T) {
	for _, policy := range []rpc.Policy{rpc.EWMA, rpc.LeastRequest, rpc.RoundRobin} {
		for what, fail := range map[string]error{
			"an error without a code": errors.New("dial tcp 10.0.0.5:5432: connection refused"),
			"INTERNAL":                call.Errorf(call.Internal, "no state"),
			"UNAVAILABLE":             call.Errorf(call.Unavailable, "no database"),
		} {
			for _, streams := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/streams %v", policy, what, streams), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { failingHandler(t, policy, fail, streams) })
				})
			}
		}
	}
}

func failingHandler(t *testing.T, policy rpc.Policy, fail error, streams bool) {
	p := newDirect()
	var failed atomic.Int64
	for name, fail := range map[string]error{"a": fail, "b": nil} {
		srv := rpc.NewServer(&rpc.ServerConfig{Log: quiet})
		handle := func() error {
			if fail != nil {
				failed.Add(1)
				return fail
			}
			time.Sleep(5 * time.Millisecond)
			return nil
		}
		rpc.Handle(srv, hello, func(context.Context, *helloRequest) (*helloResponse, error) { return &helloResponse{name}, handle() })
		rpc.HandleServerStream(srv, odd, func(context.Context, *helloRequest, *rpc.Sender[helloResponse]) error { return handle() })
		listen(t, p, srv, name)
	}
	c := dial(t, p, "a,b", &rpc.ClientConfig{Policy: policy})
	synctest.Wait()
	for range 1000 {
		if streams {
			s, err := rpc.Open[helloResponse, helloRequest](t.Context(), c, odd)
			if err != nil {
				t.Fatal(err)
			}
			_ = s.Send(&helloRequest{"Bo"}) // an error is that of Recv
			_ = s.CloseSend()
			if _, err = s.Recv(); fail == nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		} else {
			_, _ = greet(t.Context(), c) // some fail
		}
		time.Sleep(time.Millisecond)
	}
	if n := failed.Load(); n > 30 {
		t.Errorf("the server that fails got %d of 1000 calls, want few more than 20", n)
	}
}

// TestClientTimeoutEjects: the client's own time limit is evidence against a server that responds to nothing; deadlines of callers are not.
func TestClientTimeoutEjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		stalled := rpc.NewServer(nil)
		var calls atomic.Int64
		rpc.Handle(stalled, hello, func(ctx context.Context, _ *helloRequest) (*helloResponse, error) {
			calls.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		listen(t, p, stalled, "a")
		listen(t, p, named("b"), "b")
		c := dial(t, p, "a,b", &rpc.ClientConfig{Policy: rpc.RoundRobin, Timeout: 10 * time.Millisecond})
		synctest.Wait()
		for range 500 {
			_, _ = greet(t.Context(), c)
		}
		if n := calls.Load(); n < 20 || n > 25 {
			t.Errorf("the server that stalls got %d of 500 calls, want 20", n)
		}
	})
}

// TestLostConnectionCountsOnce: a connection that ends with many calls on it is one failure of its endpoint, which gets calls as soon as it
// is connected again.
func TestLostConnectionCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		var began, cancelled atomic.Int64
		ms := func() time.Duration { return 5 * time.Millisecond }
		l := listen(t, p, delayed("a", ms, &began, &cancelled), "a")
		listen(t, p, delayed("b", ms, &began, &cancelled), "b")
		c := dial(t, p, "a,b", &rpc.ClientConfig{Policy: rpc.RoundRobin, Conns: 1})
		synctest.Wait()
		done := make(chan struct{}, 40)
		for range cap(done) {
			go func() {
				_, _ = greet(t.Context(), c)
				done <- struct{}{}
			}()
		}
		synctest.Wait()
		l.Break()
		for range cap(done) {
			<-done
		}
		time.Sleep(time.Second)
		if got := tally(t, c, 100); got["a"] != 50 {
			t.Errorf("after a lost connection with 20 calls on it the calls go to %v, want half to each", got)
		}
	})
}
