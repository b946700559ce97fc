package cpu

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestStress uses the whole API concurrently, on the real clock, and closes the pool during that. The cleanup of newPool finds
// lost or duplicated tokens.
func TestStress(t *testing.T) {
	before := runtime.NumGoroutine()
	p := newPool(t, Config{
		Tokens: 2, Queue: 8, Lend: 100 * time.Microsecond, FirstSlice: time.Microsecond, LongestSlice: 8 * time.Microsecond,
	})
	var ran, refused, ended atomic.Int64
	var all sync.WaitGroup
	for seed := range 20 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(seed), 0))
			for i := range 200 {
				if seed == 0 && i == 150 {
					p.Close()
				}
				ctx, cancel := context.WithCancel(t.Context())
				if random.IntN(4) == 0 {
					time.AfterFunc(time.Duration(random.IntN(300))*time.Microsecond, cancel)
				}
				what := random.IntN(6)
				err := run(ctx, p, func(ctx context.Context) error { return misbehave(ctx, p, what) })
				var panicked *PanicError
				switch cancel(); {
				case err == nil, errors.As(err, &panicked):
					ran.Add(1)
				case errors.Is(err, context.Canceled):
					ended.Add(1)
				case errors.Is(err, ErrBusy), errors.Is(err, ErrClosed):
					refused.Add(1)
				default:
					t.Errorf("job %d of %d: %v", i, seed, err)
				}
			}
		})
	}
	all.Wait()
	if ran.Load() == 0 || refused.Load() == 0 || ran.Load()+refused.Load()+ended.Load() != 20*200 {
		t.Errorf("%d ran, %d refused, %d ended early: want some, some, and 4000 together", ran.Load(), refused.Load(), ended.Load())
	}
	p.Close()
	for runtime.NumGoroutine() > before { // if this never ends, go test fails and prints the remaining goroutines
		time.Sleep(time.Millisecond)
	}
}

func misbehave(ctx context.Context, p *Pool, what int) error {
	switch what {
	case 0:
		panic("stress")
	case 1:
		return Blocking(ctx, func() error { time.Sleep(50 * time.Microsecond); return nil })
	case 2:
		return run(ctx, p, func(ctx context.Context) error { return misbehave(ctx, p, 3) })
	case 3:
		return For(ctx, make([]int, 200), 3, func(*int) error { runtime.Gosched(); return nil })
	case 4:
		time.Sleep(300 * time.Microsecond) // no checkpoint
		return nil
	default:
		for range 1000 {
			if err := Checkpoint(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}
