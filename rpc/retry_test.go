package rpc_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
)

// failing returns a server that counts its calls and fails all with code.
func failing(code call.Code, calls *atomic.Int64) *rpc.Server {
	srv := rpc.NewServer(nil)
	rpc.Handle(srv, hello, func(context.Context, *helloRequest) (*helloResponse, error) {
		calls.Add(1)
		return nil, call.Errorf(code, "no")
	})
	return srv
}

// TestRetry: which calls are tried again, and how often.
func TestRetry(t *testing.T) {
	t.Parallel()
	idempotent := []rpc.CallOption{rpc.Idempotent()}
	for _, row := range []struct {
		name string
		code call.Code
		cfg  rpc.ClientConfig
		opts []rpc.CallOption
		want int64
	}{
		{"not idempotent", call.Unavailable, rpc.ClientConfig{}, nil, 1},
		{"idempotent by an option", call.Unavailable, rpc.ClientConfig{}, idempotent, 3},
		{"idempotent by name", call.Unavailable, rpc.ClientConfig{Idempotent: []string{hello}}, nil, 3},
		{"idempotent by service", call.Unavailable, rpc.ClientConfig{Idempotent: []string{"greeter.Greeter.*"}}, nil, 3},
		{"another service", call.Unavailable, rpc.ClientConfig{Idempotent: []string{"greeter.*"}}, nil, 1},
		{"another code", call.NotFound, rpc.ClientConfig{}, idempotent, 1},
		{"a configured code", call.Aborted, rpc.ClientConfig{Retry: rpc.Retry{Codes: []call.Code{call.Aborted}}}, idempotent, 3},
		{"attempts", call.Unavailable, rpc.ClientConfig{Retry: rpc.Retry{Attempts: 5}}, idempotent, 5},
		{"no retries", call.Unavailable, rpc.ClientConfig{Retry: rpc.Retry{Attempts: 1}}, idempotent, 1},
		{"no budget", call.Unavailable, rpc.ClientConfig{Retry: rpc.Retry{Ratio: -1, MinPerSecond: -1}}, idempotent, 1},
		{"no time", call.Unavailable, rpc.ClientConfig{Retry: rpc.Retry{Backoff: time.Hour}, Timeout: time.Minute}, idempotent, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newDirect()
				var calls atomic.Int64
				listen(t, p, failing(row.code, &calls), "a")
				c := dial(t, p, "a", &row.cfg)
				_, err := greet(t.Context(), c, row.opts...)
				if calls.Load() != row.want || !errors.Is(err, &call.Status{Code: row.code}) {
					t.Errorf("got %d attempts, %v, want %d", calls.Load(), err, row.want)
				}
			})
		})
	}
}

// TestRetryElsewhere: another attempt goes to another endpoint.
func TestRetryElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		var calls atomic.Int64
		listen(t, p, failing(call.Unavailable, &calls), "a")
		listen(t, p, named("b"), "b")
		c := dial(t, p, "a,b", &rpc.ClientConfig{Policy: rpc.RoundRobin, Outlier: rpc.NoEjection, Idempotent: []string{hello}, Retry: rpc.Retry{Ratio: 1}})
		synctest.Wait()
		if got := tally(t, c, 20); got["b"] != 20 || calls.Load() < 10 || calls.Load() > 20 {
			t.Errorf("got %v and %d failed attempts", got, calls.Load())
		}
	})
}

// TestRetryStorm: when all servers fail, retries add no more than the budget to the load.
func TestRetryStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		var attempts atomic.Int64
		listen(t, p, failing(call.Unavailable, &attempts), "a")
		c := dial(t, p, "a", &rpc.ClientConfig{Idempotent: []string{hello}})
		const calls = 2000 // within less than 20 s
		for range calls {
			if _, err := greet(t.Context(), c); err == nil {
				t.Fatal("no error")
			}
			time.Sleep(3 * time.Millisecond)
		}
		if extra := attempts.Load() - calls; extra > calls/5+3*20 || extra < calls/10 {
			t.Errorf("%d retries of %d calls, with a budget of a fifth and 3 each second", extra, calls)
		}
	})
}

// TestEjection: an endpoint whose calls fail gets no more for a while.
func TestEjection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		var failed atomic.Int64
		listen(t, p, failing(call.Unavailable, &failed), "a")
		listen(t, p, named("b"), "b")
		c := dial(t, p, "a,b", &rpc.ClientConfig{Policy: rpc.RoundRobin, Outlier: &rpc.Outlier{Failures: 3, EjectionTime: time.Minute}})
		synctest.Wait()
		for range 100 {
			_, _ = greet(t.Context(), c) // some fail
		}
		if failed.Load() != 3 {
			t.Errorf("%d calls to the failing endpoint, want 3", failed.Load())
		}
		time.Sleep(2 * time.Minute)
		for range 10 {
			_, _ = greet(t.Context(), c)
		}
		if failed.Load() == 3 {
			t.Error("the endpoint gets no calls after its ejection")
		}
	})
}

// TestEndpointRecovers: neither a lost connection nor short deadlines keep an endpoint from getting calls for long.
func TestEndpointRecovers(t *testing.T) {
	for _, how := range []string{"lost connection", "short deadlines"} {
		synctest.Test(t, func(t *testing.T) {
			p := newDirect()
			var began, cancelled atomic.Int64
			ms := func() time.Duration { return 5 * time.Millisecond }
			l := listen(t, p, delayed("a", ms, &began, &cancelled), "a")
			listen(t, p, delayed("b", ms, &began, &cancelled), "b")
			c := dial(t, p, "a,b", &rpc.ClientConfig{Outlier: rpc.NoEjection})
			synctest.Wait()
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					if how == "lost connection" {
						_, _ = greet(t.Context(), c)
					} else {
						_, _ = greet(t.Context(), c, rpc.Timeout(time.Millisecond))
					}
				})
			}
			synctest.Wait()
			if how == "lost connection" {
				l.Break()
			}
			wg.Wait()
			time.Sleep(time.Second)
			if got := tally(t, c, 400); got["a"] < 20 || got["b"] < 20 {
				t.Errorf("%s: got %v", how, got)
			}
		})
	}
}
