package cpu

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// withShortSlices makes jobs call letKernelPreempt until the test ends.
func withShortSlices(t *testing.T) {
	before := shortSlices.Swap(true)
	t.Cleanup(func() { shortSlices.Store(before) })
}

// TestPreemptEvery: a job calls letKernelPreempt about once in 200 us, however often it checkpoints.
func TestPreemptEvery(t *testing.T) {
	withShortSlices(t)
	for _, each := range []time.Duration{time.Microsecond, 10 * time.Microsecond, 70 * time.Microsecond, 300 * time.Microsecond} {
		t.Run(each.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, Config{Tokens: 1})
				err := run(t.Context(), p, func(ctx context.Context) error {
					j := From(ctx)
					last, longest := p.now(), time.Duration(0)
					for range 2000 {
						time.Sleep(each)
						before := j.lastPreempt
						if err := Checkpoint(ctx); err != nil {
							return err
						}
						if j.lastPreempt == before {
							continue
						}
						if gap := j.lastPreempt - before; before > 0 && gap < preemptEvery {
							t.Errorf("two calls within %v, want at least %v", gap, preemptEvery)
						}
						longest = max(longest, p.now()-last)
						last = p.now()
					}
					if most := max(3*preemptEvery, each); longest == 0 || longest > most {
						t.Errorf("up to %v between two calls, want some calls and at most %v", longest, most)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestPreemptAfterFastCheckpoints: a job whose checkpoints become rarer calls letKernelPreempt again soon.
func TestPreemptAfterFastCheckpoints(t *testing.T) {
	skipped := int32(0)
	for range 100 {
		skipped = nextSkipped(skipped, 0)
	}
	if skipped != maxSkipped {
		t.Errorf("with checkpoints that take no time %d are skipped, want %d", skipped, maxSkipped)
	}
	for range 10 {
		skipped = nextSkipped(skipped, 2*preemptEvery)
	}
	if skipped != 0 {
		t.Errorf("with checkpoints that take long %d are skipped, want none", skipped)
	}
}

// TestPreemptShortJobs: jobs that run one after the other call letKernelPreempt as often as one job would.
func TestPreemptShortJobs(t *testing.T) {
	withShortSlices(t)
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		calls := 0
		for range 12 {
			err := run(t.Context(), p, func(ctx context.Context) error {
				time.Sleep(preemptEvery / 4)
				err := Checkpoint(ctx)
				if From(ctx).lastPreempt == p.now() {
					calls++
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		if calls != 3 {
			t.Errorf("%d calls in %v, want 3", calls, p.now())
		}
	})
}

// TestDueWhileSkipping: a job that skips checkpoints returns the error of its context at the next one, and yields at the next one.
func TestDueWhileSkipping(t *testing.T) {
	withShortSlices(t)
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		ctx, cancel := context.WithCancel(t.Context())
		err := run(ctx, p, func(ctx context.Context) error {
			j := From(ctx)
			for range 20 { // the clock stands still, so it skips more and more
				if err := Checkpoint(ctx); err != nil {
					return err
				}
			}
			if j.skip == 0 {
				t.Error("no checkpoint is skipped")
			}
			ran := false
			go func() { _ = run(t.Context(), p, func(context.Context) error { ran = true; return nil }) }()
			time.Sleep(time.Millisecond)
			if err := Checkpoint(ctx); err != nil || !ran {
				t.Errorf("checkpoint with a waiting job: %v, the other job ran: %v, want true", err, ran)
			}
			cancel()
			synctest.Wait()
			return Checkpoint(ctx)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})
}

// TestManyCheckpointsOutsidePool: a job outside a pool returns the error of its context also after 2^31 checkpoints.
func TestManyCheckpointsOutsidePool(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	j := From(ctx)
	j.skip = math.MinInt32 + 1 // as after 2^31 - 1 checkpoints
	for range 4 {
		if err := j.Checkpoint(); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	}
}
