package cpu

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// tight runs for d of the test's fake clock and never checkpoints.
func tight(d time.Duration) func(context.Context) error {
	return func(context.Context) error { time.Sleep(d); return nil }
}

func nothing(context.Context) error { return nil }

// TestLend: a job that does not checkpoint loses its token 5 ms after it was asked to yield. Stats names the job.
func TestLend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		var all sync.WaitGroup
		all.Go(func() { run(WithName(t.Context(), "resize"), p, tight(time.Second)) })
		synctest.Wait()
		wait := func() time.Duration {
			before := time.Now()
			if err := run(t.Context(), p, nothing); err != nil {
				t.Error(err)
			}
			return time.Since(before)
		}
		if got := wait(); got < 5*time.Millisecond || got > 6*time.Millisecond {
			t.Errorf("the first short job waited %v, want 5 ms and a bit", got)
		}
		if got := wait(); got != 0 {
			t.Errorf("the next waited %v, want 0: it is known by then", got)
		}
		s := p.Stats()
		if len(s.Unyielding) != 1 || s.Unyielding[0].Name != "resize" || s.Unyielding[0].Jobs != 1 {
			t.Errorf("unyielding: got %+v, want one job of resize", s.Unyielding)
		}
		if s.Lent != 0 || s.Running != 1 {
			t.Errorf("lent %d, running %d: want 0 and 1, as the token went back", s.Lent, s.Running)
		}
		all.Wait()
		if got := p.Stats().Unyielding[0].Longest; got != time.Second {
			t.Errorf("it ran for %v, want 1s", got)
		}
	})
}

// TestLentTokenIsCounted: while a lent token is in use, the job that had it runs without a token.
func TestLentTokenIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		var all sync.WaitGroup
		all.Go(func() { run(t.Context(), p, tight(40*time.Millisecond)) })
		synctest.Wait()
		all.Go(func() { run(t.Context(), p, func(ctx context.Context) error { return spin(ctx, 20*time.Millisecond) }) })
		time.Sleep(10 * time.Millisecond)
		if s := p.Stats(); s.Lent != 1 || s.Running != 1 || s.Queued != 0 {
			t.Errorf("lent %d, running %d, queued %d: want 1, 1, 0", s.Lent, s.Running, s.Queued)
		}
		all.Wait()
	})
}

// TestJobsOfOneNameWaitForEachOther: jobs of a name that never checkpoints wait for each other; other jobs do not wait for them.
func TestJobsOfOneNameWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 2})
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				for ctx.Err() == nil {
					run(WithName(t.Context(), "tight"), p, tight(500*time.Millisecond))
				}
			})
		}
		time.Sleep(5 * time.Second)
		most := 0
		for i := range 100 {
			before := time.Now()
			if err := run(t.Context(), p, func(ctx context.Context) error { return spin(ctx, time.Millisecond) }); err != nil {
				t.Error(err)
			}
			if got := time.Since(before); got > 2*time.Millisecond {
				t.Errorf("short job %d took %v, want at most 2ms", i, got)
			}
			time.Sleep(19 * time.Millisecond)
			s := p.Stats()
			most = max(most, s.Running+s.Lent)
		}
		if most > 3 {
			t.Errorf("%d jobs ran side by side, want at most 3 for 2 tokens", most)
		}
		stop()
		all.Wait()
	})
}

// TestHungJob: one job of a name never ends. After another job of that name has ended, the others get a token within a few
// times the running time of that job.
func TestHungJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		ctx := WithName(t.Context(), "parse")
		var all sync.WaitGroup
		all.Go(func() { run(ctx, p, tight(time.Hour)) })
		synctest.Wait()
		before := time.Now()
		run(ctx, p, tight(20*time.Millisecond))
		if got := time.Since(before); got > 2*time.Second {
			t.Errorf("the first job took %v, want at most 2s", got)
		}
		for i := range 10 {
			before := time.Now()
			run(ctx, p, tight(20*time.Millisecond))
			if got := time.Since(before); got > 100*time.Millisecond {
				t.Errorf("job %d took %v, want at most 100ms", i, got)
			}
		}
		all.Wait()
	})
}

// TestSameCode: jobs without a name do not wait for each other, even if they share their code.
func TestSameCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { run(t.Context(), p, tight(time.Second)) })
		}
		time.Sleep(50 * time.Millisecond)
		if s := p.Stats(); s.Running != 1 || s.Lent != 4 {
			t.Errorf("running %d, lent %d: want 1 and 4, as each lends after 5 ms", s.Running, s.Lent)
		}
		all.Wait()
	})
}

// TestYieldingAgain: Stats no longer names a function once one of its jobs yields in time.
func TestYieldingAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		ctx := WithName(t.Context(), "mixed")
		beside := func(f func(context.Context) error) {
			var all sync.WaitGroup
			all.Go(func() { run(ctx, p, f) })
			time.Sleep(time.Millisecond)
			run(t.Context(), p, nothing)
			all.Wait()
		}
		beside(tight(50 * time.Millisecond))
		if got := p.Stats().Unyielding; len(got) != 1 {
			t.Fatalf("unyielding: got %v, want mixed", got)
		}
		beside(func(ctx context.Context) error { return spin(ctx, 50*time.Millisecond) })
		if got := p.Stats().Unyielding; len(got) != 0 {
			t.Errorf("unyielding: got %v, want none", got)
		}
	})
}

// TestLateCheckpoint: a job that checkpoints after its token was lent waits for a token.
func TestLateCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		var all sync.WaitGroup
		began := time.Now()
		all.Go(func() {
			run(t.Context(), p, func(ctx context.Context) error {
				time.Sleep(10 * time.Millisecond)
				if err := Checkpoint(ctx); err != nil {
					t.Error(err)
				}
				if got := time.Since(began); got < 11*time.Millisecond {
					t.Errorf("it went on after %v, want 11 ms or more: the borrower had run for less", got)
				}
				return nil
			})
		})
		synctest.Wait()
		all.Go(func() { run(t.Context(), p, func(ctx context.Context) error { return spin(ctx, 20*time.Millisecond) }) })
		all.Wait()
	})
}

// TestLendingIsBounded: of many hung jobs, no more than maxLent run beside the tokens.
func TestLendingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		var all sync.WaitGroup
		for i := range maxLent + 10 {
			all.Go(func() { run(WithName(t.Context(), strings.Repeat("x", i+1)), p, tight(time.Minute)) })
		}
		time.Sleep(30 * time.Second)
		if s := p.Stats(); s.Lent != maxLent || s.Running != 1 || s.Queued != 9 {
			t.Errorf("lent %d, running %d, queued %d: want %d, 1, 9", s.Lent, s.Running, s.Queued, maxLent)
		}
		all.Wait()
	})
}

// TestOverrunRecordsAreBounded: a program that creates new names without end does not fill the memory.
func TestOverrunRecordsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		for i := range maxOverruns + 5 {
			var all sync.WaitGroup
			all.Go(func() { run(WithName(t.Context(), strings.Repeat("y", i+1)), p, tight(20*time.Millisecond)) })
			synctest.Wait()
			run(t.Context(), p, nothing)
			all.Wait()
		}
		if got := len(p.Stats().Unyielding); got != maxOverruns {
			t.Errorf("%d names, want %d", got, maxOverruns)
		}
	})
}

// TestCancelledWhileYielding: the context of a job ends while the job yields. The job continues immediately without a token,
// and no token is lost when it ends.
func TestCancelledWhileYielding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			err := run(ctx, p, func(ctx context.Context) error {
				err := spin(ctx, time.Hour)
				if s := p.Stats(); s.Lent != 1 {
					t.Errorf("lent %d, want 1", s.Lent)
				}
				return err
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
		})
		synctest.Wait()
		all.Go(func() { run(t.Context(), p, func(ctx context.Context) error { return spin(ctx, time.Millisecond) }) })
		time.Sleep(500 * time.Microsecond)
		cancel()
		all.Wait()
	})
}

// TestLendNever: durations near the longest time.Duration do not overflow and do not lend a token immediately.
func TestLendNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1, Lend: 1<<63 - 1, LongestSlice: 1<<63 - 1})
		var all sync.WaitGroup
		all.Go(func() { run(t.Context(), p, tight(time.Minute)) })
		synctest.Wait()
		for range 2 {
			all.Go(func() { run(t.Context(), p, nothing) })
			time.Sleep(time.Second)
		}
		if s := p.Stats(); s.Lent != 0 || s.Queued != 2 {
			t.Errorf("lent %d, queued %d: want 0 and 2", s.Lent, s.Queued)
		}
		all.Wait()
	})
}
