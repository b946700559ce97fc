package rpc_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/rpc"
)

// delayed returns a server whose Hello takes delay() and counts the calls that began and the calls that were cancelled.
func delayed(name string, delay func() time.Duration, began, cancelled *atomic.Int64) *rpc.Server {
	srv := rpc.NewServer(nil)
	rpc.Handle(srv, hello, func(ctx context.Context, _ *helloRequest) (*helloResponse, error) {
		began.Add(1)
		select {
		case <-time.After(delay()):
			return &helloResponse{name}, nil
		case <-ctx.Done():
			cancelled.Add(1)
			return nil, ctx.Err()
		}
	})
	return srv
}

// TestHedge: the second attempt goes elsewhere after the delay, wins, and the first one is cancelled.
func TestHedge(t *testing.T) {
	for _, row := range []struct {
		name                string
		a, b                time.Duration // how long the endpoints take
		opts                []rpc.CallOption
		want                string
		took                time.Duration
		attempts, cancelled int64
	}{
		{"the first is quick", 5 * time.Millisecond, 0, []rpc.CallOption{rpc.Idempotent()}, "a", 5 * time.Millisecond, 1, 0},
		{"the second wins", time.Second, 3 * time.Millisecond, []rpc.CallOption{rpc.Idempotent()}, "b", 13 * time.Millisecond, 2, 1},
		{"the first wins", 15 * time.Millisecond, time.Second, []rpc.CallOption{rpc.Idempotent()}, "a", 15 * time.Millisecond, 2, 1},
		{"not idempotent", time.Second, 0, nil, "a", time.Second, 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newDirect()
				var began, cancelled atomic.Int64
				fixed := func(d time.Duration) func() time.Duration { return func() time.Duration { return d } }
				listen(t, p, delayed("a", fixed(row.a), &began, &cancelled), "a")
				listen(t, p, delayed("b", fixed(row.b), &began, &cancelled), "b")
				var attempts int
				c := dial(t, p, "a,b", &rpc.ClientConfig{
					Policy: rpc.RoundRobin, Hedge: &rpc.Hedge{Delay: 10 * time.Millisecond, MaxExtra: 1},
					Interceptors: []rpc.Interceptor{func(ctx context.Context, info *rpc.Info, next func(context.Context) error) error {
						info.OnEnd(func(e rpc.End) { attempts = e.Attempts })
						return next(ctx)
					}},
				})
				synctest.Wait()
				start := time.Now()
				got, err := greet(t.Context(), c, row.opts...)
				took := time.Since(start)
				synctest.Wait()
				if got != row.want || err != nil || took != row.took || began.Load() != row.attempts || int64(attempts) != row.attempts || cancelled.Load() != row.cancelled {
					t.Errorf("got %q, %v after %v with %d (%d) attempts, %d cancelled, want %+v", got, err, took, began.Load(), attempts, cancelled.Load(), row)
				}
			})
		})
	}
}

// TestHedgeBudget: when all servers stall, hedges add no more than their share to the load.
func TestHedgeBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		var began, cancelled atomic.Int64
		slow := func() time.Duration { return 100 * time.Millisecond }
		listen(t, p, delayed("a", slow, &began, &cancelled), "a")
		listen(t, p, delayed("b", slow, &began, &cancelled), "b")
		c := dial(t, p, "a,b", &rpc.ClientConfig{Idempotent: []string{hello}, Outlier: rpc.NoEjection, Hedge: &rpc.Hedge{Delay: time.Millisecond}})
		synctest.Wait()
		const calls = 1000
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for range calls / 20 {
					if _, err := greet(t.Context(), c); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if extra := began.Load() - calls; extra > calls/20 || extra < calls/40 {
			t.Errorf("%d hedges of %d calls, want at most a twentieth", extra, calls)
		}
	})
}

// TestHedgeWaitsForBudget: a call that finds the budget used up gets its second attempt when there is room again.
func TestHedgeWaitsForBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		var began, cancelled, slow atomic.Int64
		listen(t, p, delayed("a", func() time.Duration {
			if slow.Add(1) == 1 {
				return time.Minute
			}
			return 0
		}, &began, &cancelled), "a")
		listen(t, p, delayed("b", func() time.Duration { return 0 }, &began, &cancelled), "b")
		c := dial(t, p, "a,b", &rpc.ClientConfig{Policy: rpc.RoundRobin, Idempotent: []string{hello}, Hedge: &rpc.Hedge{Delay: 10 * time.Millisecond}})
		synctest.Wait()
		start := time.Now()
		done := make(chan time.Duration)
		go func() {
			if _, err := greet(t.Context(), c); err != nil { // to a: the budget of one call has no room for an attempt
				t.Error(err)
			}
			done <- time.Since(start)
		}()
		time.Sleep(100 * time.Millisecond)
		for range 40 {
			if _, err := greet(t.Context(), c); err != nil {
				t.Error(err)
			}
		}
		if took := <-done; took < 100*time.Millisecond || took > 400*time.Millisecond {
			t.Errorf("took %v, want the next try after the budget has room, at 150 ms or 310 ms", took)
		}
	})
}

// TestHedgeQuantile: with the delay of the measured p95, one of three servers that stalls hardly shows in the latencies.
func TestHedgeQuantile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		var began, cancelled atomic.Int64
		start := time.Now()
		quick := func() time.Duration { return time.Millisecond + rand.N(time.Millisecond) }
		stalling := func() time.Duration { // one second of ten
			if since := time.Since(start) % (10 * time.Second); since > 9*time.Second {
				return 10*time.Second - since + quick()
			}
			return quick()
		}
		listen(t, p, delayed("a", stalling, &began, &cancelled), "a")
		listen(t, p, delayed("b", quick, &began, &cancelled), "b")
		listen(t, p, delayed("c", quick, &began, &cancelled), "c")
		c := dial(t, p, "a,b,c", &rpc.ClientConfig{Idempotent: []string{hello}, Hedge: &rpc.Hedge{}})
		synctest.Wait()
		var slow, calls atomic.Int64
		var wg sync.WaitGroup
		for time.Since(start) < 22*time.Second {
			time.Sleep(time.Duration(rand.ExpFloat64() * float64(5*time.Millisecond)))
			calls.Add(1)
			wg.Go(func() {
				at := time.Now()
				if _, err := greet(t.Context(), c); err != nil {
					t.Error(err)
				}
				if time.Since(at) > 100*time.Millisecond {
					slow.Add(1)
				}
			})
		}
		wg.Wait()
		if n := calls.Load(); slow.Load()*1000 > n*2 || began.Load() > n+n/20+1 {
			t.Errorf("of %d calls %d took more than 100 ms; %d attempts", n, slow.Load(), began.Load())
		}
	})
}
