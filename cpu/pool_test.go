package cpu

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// newPool returns a pool for a test. When the test ends it closes the pool and checks that all tokens are free.
func newPool(t *testing.T, cfg Config) *Pool {
	t.Helper()
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		s := p.Stats()
		if s.Running+s.Queued+s.Lent != 0 || p.free != s.Tokens || p.unfinished != 0 || p.queuedNew != 0 {
			t.Errorf("after Close: running %d, queued %d, lent %d, free %d of %d, unended %d, fresh %d",
				s.Running, s.Queued, s.Lent, p.free, s.Tokens, p.unfinished, p.queuedNew)
		}
	})
	return p
}

// run is Do for a function without a result.
func run(ctx context.Context, p *Pool, f func(context.Context) error) error {
	_, err := Do(ctx, p, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// spin runs for d of the test's fake clock and checkpoints each 100 us.
func spin(ctx context.Context, d time.Duration) error {
	for ; d > 0; d -= 100 * time.Microsecond {
		time.Sleep(100 * time.Microsecond)
		if err := Checkpoint(ctx); err != nil {
			return err
		}
	}
	return nil
}

func TestConfig(t *testing.T) {
	for _, row := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"tokens", Config{Tokens: -1}, "cpu: Config.Tokens is -1"},
		{"queue", Config{Queue: -7}, "cpu: Config.Queue is -7"},
		{"lend", Config{Lend: -time.Millisecond}, "cpu: Config.Lend is -1ms"},
		{"first slice", Config{FirstSlice: -1}, "cpu: Config.FirstSlice is -1ns"},
		{"longest slice", Config{LongestSlice: -1}, "cpu: Config.LongestSlice is -1ns"},
		{"slices the wrong way round", Config{FirstSlice: 2, LongestSlice: 1}, "cpu: Config.LongestSlice is 1ns"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := New(row.cfg); err == nil || !strings.HasPrefix(err.Error(), row.want) {
				t.Errorf("got %v, want %s ...", err, row.want)
			}
		})
	}
	p := newPool(t, Config{})
	want := Config{Tokens: Cores(), Queue: 1024, Lend: 5e6, FirstSlice: 250e3, LongestSlice: 4e6}
	if p.cfg != want {
		t.Errorf("defaults: got %+v, want %+v", p.cfg, want)
	}
}

// TestOrder: with one token, waiting jobs run in the order of their running time so far. Jobs with equal running times run in
// order of arrival.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		var order []string
		var mu sync.Mutex
		var all sync.WaitGroup
		job := func(name string, d time.Duration) {
			all.Go(func() {
				if err := run(t.Context(), p, func(ctx context.Context) error { return spin(ctx, d) }); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
			})
			synctest.Wait()
		}
		job("long", 100*time.Millisecond)
		time.Sleep(20 * time.Millisecond)
		job("middle", 10*time.Millisecond)
		job("short", time.Millisecond)
		job("also short", time.Millisecond)
		all.Wait()
		if want := []string{"short", "also short", "middle", "long"}; !slices.Equal(order, want) {
			t.Errorf("got %q, want %q", order, want)
		}
	})
}

// TestShortBesideLong: a short job that competes with a long job ends after its own running time plus one first slice.
func TestShortBesideLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 2})
		var long sync.WaitGroup
		for range 6 {
			long.Go(func() {
				run(t.Context(), p, func(ctx context.Context) error { return spin(ctx, 500*time.Millisecond) })
			})
		}
		time.Sleep(100 * time.Millisecond)
		for i := range 20 {
			began := time.Now()
			if err := run(t.Context(), p, func(ctx context.Context) error { return spin(ctx, time.Millisecond) }); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(began); got > 2*time.Millisecond {
				t.Errorf("short job %d took %v, want at most 2ms", i, got)
			}
			time.Sleep(7 * time.Millisecond)
		}
		long.Wait()
		if s := p.Stats(); s.Unyielding != nil {
			t.Errorf("unyielding %v, want none: all of them checkpoint", s.Unyielding)
		}
	})
}

// TestOldJobIsNotStarved: a long job ends although short jobs keep the only token busy.
func TestOldJobIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		ctx, stop := context.WithCancel(t.Context())
		var short sync.WaitGroup
		for range 3 {
			short.Go(func() {
				for ctx.Err() == nil {
					run(t.Context(), p, func(ctx context.Context) error { return spin(ctx, 200*time.Microsecond) })
				}
			})
		}
		began := time.Now()
		if err := run(t.Context(), p, func(ctx context.Context) error { return spin(ctx, 20*time.Millisecond) }); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(began); got > time.Second {
			t.Errorf("20 ms of work took %v, want less than 1s", got)
		}
		stop()
		short.Wait()
	})
}

// TestTokens: the number of running jobs reaches the number of tokens and never exceeds it.
func TestTokens(t *testing.T) {
	for _, tokens := range []int{1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, Config{Tokens: tokens})
			var running, most atomic.Int64
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					run(t.Context(), p, func(ctx context.Context) error {
						for range 50 {
							most.Store(max(most.Load(), running.Add(1)))
							time.Sleep(200 * time.Microsecond)
							running.Add(-1)
							if err := Checkpoint(ctx); err != nil {
								return err
							}
						}
						return nil
					})
				})
			}
			all.Wait()
			if most.Load() != int64(tokens) {
				t.Errorf("%d jobs ran at once, want %d", most.Load(), tokens)
			}
		})
	}
}

func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1, Queue: 2})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := run(t.Context(), p, func(ctx context.Context) error { return spin(ctx, 50*time.Millisecond) }); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		before := time.Now()
		err := run(t.Context(), p, func(context.Context) error { t.Error("ran"); return nil })
		if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "2 jobs wait for its 1 tokens") {
			t.Errorf("got %v, want ErrBusy with the figures", err)
		}
		if time.Since(before) != 0 {
			t.Errorf("it took %v to say so", time.Since(before))
		}
		all.Wait()
		if s := p.Stats(); s.Busy != 1 || s.Jobs != 3 {
			t.Errorf("got %d refusals and %d jobs, want 1 and 3", s.Busy, s.Jobs)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			err := run(ctx, p, func(ctx context.Context) error { return spin(ctx, time.Hour) })
			if !errors.Is(err, context.Canceled) {
				t.Errorf("running: got %v, want %v", err, context.Canceled)
			}
		})
		synctest.Wait()
		all.Go(func() {
			err := run(ctx, p, func(ctx context.Context) error { return spin(ctx, time.Hour) })
			if !errors.Is(err, context.Canceled) {
				t.Errorf("yielded: got %v, want %v", err, context.Canceled)
			}
		})
		time.Sleep(20 * time.Millisecond)
		hold := make(chan struct{})
		all.Go(func() {
			run(t.Context(), p, func(context.Context) error { <-hold; return nil })
		})
		time.Sleep(time.Millisecond) // the holder is new, so it has the token
		all.Go(func() {
			err := run(ctx, p, func(context.Context) error { t.Error("ran"); return nil })
			if !errors.Is(err, context.Canceled) {
				t.Errorf("waiting to start: got %v, want %v", err, context.Canceled)
			}
		})
		synctest.Wait()
		before := time.Now()
		cancel()
		synctest.Wait()
		if time.Since(before) != 0 || p.queue.len != 0 {
			t.Errorf("%d jobs still wait", p.queue.len)
		}
		close(hold)
		all.Wait()
		if err := run(ctx, p, func(context.Context) error { t.Error("ran"); return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("ended before: got %v, want %v", err, context.Canceled)
		}
	})
}

// TestCancelAtOnce: the first checkpoint after the context has ended returns its error.
func TestCancelAtOnce(t *testing.T) {
	p := newPool(t, Config{Tokens: 1})
	ctx, cancel := context.WithCancel(t.Context())
	err := run(ctx, p, func(ctx context.Context) error {
		cancel()
		return Checkpoint(ctx)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 2})
		var done, refused atomic.Int64
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				switch err := run(t.Context(), p, func(ctx context.Context) error { return spin(ctx, 10*time.Millisecond) }); {
				case err == nil:
					done.Add(1)
				case errors.Is(err, ErrClosed):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Millisecond) // some have started and yielded
		started := int64(p.Stats().Jobs)
		p.Close()
		all.Wait()
		if done.Load() != started || refused.Load() != 10-started || started < 3 {
			t.Errorf("%d done and %d refused, want %d and %d, with some that had yielded",
				done.Load(), refused.Load(), started, 10-started)
		}
		if err := run(t.Context(), p, func(context.Context) error { return nil }); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: got %v, want %v", err, ErrClosed)
		}
		p.Close()
	})
}
