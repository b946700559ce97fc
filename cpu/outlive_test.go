package cpu

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestCallsThatOutliveTheirJob: a goroutine that a job started makes calls with the job's context. The calls return after the
// job's function has returned. The pool must then have all its tokens. The cleanup of newPool counts the tokens.
func TestCallsThatOutliveTheirJob(t *testing.T) {
	blocking := func(ctx context.Context) {
		_ = Blocking(ctx, func() error { time.Sleep(20 * time.Millisecond); return nil })
	}
	rows := []struct {
		name   string
		helper func(ctx context.Context)
		job    time.Duration // how long the function runs
		other  time.Duration // how long another job holds the only token
	}{
		{"a token is free when Blocking ends", blocking, 10 * time.Millisecond, 0},
		{"Blocking begins after the job", func(ctx context.Context) { time.Sleep(20 * time.Millisecond); blocking(ctx) }, 10 * time.Millisecond, 0},
		{"the job ends while Blocking waits for a token", blocking, 22 * time.Millisecond, 50 * time.Millisecond},
		{"the job ends while Checkpoint waits for a token", func(ctx context.Context) {
			time.Sleep(8 * time.Millisecond)
			_ = Checkpoint(ctx)
		}, 10 * time.Millisecond, 50 * time.Millisecond},
		{"Do begins after the job", func(ctx context.Context) {
			time.Sleep(20 * time.Millisecond)
			p := jobOf(ctx).pool
			_ = run(ctx, p, func(context.Context) error {
				if got := p.Stats().Running; got != 1 {
					t.Errorf("%d jobs run by the pool's count, want 1: a job that began after its parent ended has a token of its own", got)
				}
				return nil
			})
		}, 10 * time.Millisecond, 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, Config{Tokens: 1})
				var all sync.WaitGroup
				all.Go(func() {
					_ = run(t.Context(), p, func(ctx context.Context) error {
						all.Go(func() { row.helper(ctx) })
						time.Sleep(row.job)
						return nil
					})
				})
				synctest.Wait()
				if row.other > 0 {
					all.Go(func() { _ = run(t.Context(), p, tight(row.other)) })
				}
				all.Wait()
				if s := p.Stats(); s.Running+s.Queued+s.Lent != 0 || p.free != 1 {
					t.Fatalf("running %d, queued %d, lent %d, %d tokens free: want 0, 0, 0, 1", s.Running, s.Queued, s.Lent, p.free)
				}
				for range 2 * maxLent {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					if err := run(ctx, p, tight(time.Second)); err != nil {
						t.Fatalf("a job that comes later: %v", err)
					}
					cancel()
				}
			})
		})
	}
}
