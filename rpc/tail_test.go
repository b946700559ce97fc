package rpc_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/rpc"
)

// tailServer handles 8 calls at a time, each of which takes 5 to 15 ms. While stalled reports a time, it does nothing until then.
func tailServer(stalled func() time.Duration) *rpc.Server {
	slots := make(chan struct{}, 8)
	srv := rpc.NewServer(&rpc.ServerConfig{Log: quiet})
	rpc.Handle(srv, hello, func(ctx context.Context, _ *helloRequest) (*helloResponse, error) {
		time.Sleep(stalled())
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		defer func() { <-slots }()
		time.Sleep(5*time.Millisecond + rand.N(10*time.Millisecond))
		time.Sleep(stalled())
		return &helloResponse{}, nil
	})
	return srv
}

// tail makes calls at random times for 20 s, half as many as three servers can handle, of which one stalls for 1 s of each 10. It
// returns the latencies, sorted, and the share of attempts beyond one for each call.
func tail(t *testing.T, cfg rpc.ClientConfig) (latencies []time.Duration, extra float64) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		start := time.Now()
		for _, name := range []string{"a", "b", "c"} {
			listen(t, p, tailServer(func() time.Duration {
				if since := time.Since(start) % (10 * time.Second); name == "a" && since > 5*time.Second {
					return max(6*time.Second-since, 0)
				}
				return 0
			}), name)
		}
		var mu sync.Mutex
		attempts := 0
		cfg.Idempotent = []string{hello}
		cfg.Interceptors = []rpc.Interceptor{func(ctx context.Context, info *rpc.Info, next func(context.Context) error) error {
			info.OnEnd(func(e rpc.End) {
				mu.Lock()
				defer mu.Unlock()
				attempts += e.Attempts
				latencies = append(latencies, e.Duration)
			})
			return next(ctx)
		}}
		c := dial(t, p, "a,b,c", &cfg)
		synctest.Wait()
		var calls sync.WaitGroup
		for due := start; due.Sub(start) < 20*time.Second; due = due.Add(time.Duration(rand.ExpFloat64() * float64(time.Second) / 1200)) {
			time.Sleep(time.Until(due))
			calls.Go(func() {
				if _, err := greet(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		time.Sleep(2 * time.Second) // handlers of cancelled attempts
		extra = float64(attempts)/float64(len(latencies)) - 1
	})
	slices.Sort(latencies)
	return latencies, extra
}

// TestTail: with the client's defaults and hedges, the stall hardly shows beyond the quickest 99.9 %, for few extra attempts.
func TestTail(t *testing.T) {
	quantile := func(all []time.Duration) time.Duration { return all[len(all)*999/1000] }
	want, _ := tail(t, rpc.ClientConfig{Policy: rpc.RoundRobin, Outlier: rpc.NoEjection})
	got, extra := tail(t, rpc.ClientConfig{Hedge: &rpc.Hedge{}})
	if quantile(got) > quantile(want)/5 || extra > 0.05 {
		t.Errorf("99.9th percentile %v with %.1f %% extra attempts; round robin has %v, of which a fifth is asked, with at most 5 %%", quantile(got), 100*extra, quantile(want))
	}
}
