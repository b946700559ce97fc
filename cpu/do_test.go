package cpu

import (
	"context"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestPanic(t *testing.T) {
	for _, row := range []struct {
		name  string
		value any
		is    error
	}{
		{"text", "boom", nil},
		{"error", io.ErrUnexpectedEOF, io.ErrUnexpectedEOF},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newPool(t, Config{Tokens: 1})
			_, err := Do(t.Context(), p, func(context.Context) (int, error) { panic(row.value) })
			var got *PanicError
			if !errors.As(err, &got) || got.Value != row.value || !strings.Contains(string(got.Stack), "TestPanic") {
				t.Fatalf("got %v, want a PanicError with %v and the stack", err, row.value)
			}
			if row.is != nil && !errors.Is(err, row.is) {
				t.Errorf("%v does not unwrap to %v", err, row.is)
			}
			if s := p.Stats(); s.Panics != 1 || s.Running != 0 {
				t.Errorf("panics %d, running %d: want 1, 0", s.Panics, s.Running)
			}
		})
	}
}

// TestGoexit: a job that ends its goroutine, as t.FailNow does, returns its token to the pool.
func TestGoexit(t *testing.T) {
	p := newPool(t, Config{Tokens: 1})
	var all sync.WaitGroup
	all.Go(func() {
		run(t.Context(), p, func(context.Context) error { runtime.Goexit(); return nil })
	})
	all.Wait()
	if err := run(t.Context(), p, nothing); err != nil {
		t.Error(err)
	}
}

func TestNil(t *testing.T) {
	p := newPool(t, Config{Tokens: 1})
	if _, err := Do[int](t.Context(), p, nil); err == nil {
		t.Error("no function: want an error")
	}
	if err := run(t.Context(), nil, nothing); err == nil {
		t.Error("no pool: want an error")
	}
}

// TestNested: if a job calls Do on its own pool, the function runs immediately on the job's token. This also works through a
// job of another pool. The values of the context are preserved.
func TestNested(t *testing.T) {
	p := newPool(t, Config{Tokens: 1, Queue: 1})
	other := newPool(t, Config{Tokens: 1, Queue: 1})
	type k struct{}
	err := run(t.Context(), p, func(ctx context.Context) error {
		return run(ctx, other, func(ctx context.Context) error {
			return run(context.WithValue(ctx, k{}, "kept"), p, func(ctx context.Context) error {
				if got := ctx.Value(k{}); got != "kept" {
					t.Errorf("value: got %v, want kept", got)
				}
				if p, o := p.Stats(), other.Stats(); p.Running != 1 || o.Running != 1 {
					t.Errorf("running: got %d and %d, want 1 and 1", p.Running, o.Running)
				}
				return io.EOF
			})
		})
	})
	if !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
	err = run(t.Context(), p, func(ctx context.Context) error {
		return run(ctx, p, func(context.Context) error { panic("inner") })
	})
	var panicked *PanicError
	if !errors.As(err, &panicked) || panicked.Value != "inner" {
		t.Errorf("got %v, want the inner panic", err)
	}
}

// TestNestedWithoutContext: a job waits for another job of its pool and does not pass its context. The pool lends the waiting
// job's token.
func TestNestedWithoutContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		before := time.Now()
		err := run(t.Context(), p, func(context.Context) error { return run(t.Context(), p, nothing) })
		if got := time.Since(before); err != nil || got > 10*time.Millisecond {
			t.Errorf("got %v after %v, want no error within 10ms", err, got)
		}
	})
}

func TestCheckpointOutside(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	handle := From(ctx)
	blocked := Blocking(handle, func() error { return nil })
	if err := errors.Join(Checkpoint(ctx), handle.Checkpoint(), Checkpoint(handle), blocked); err != nil {
		t.Error(err)
	}
	cancel()
	for name, err := range map[string]error{
		"Checkpoint": Checkpoint(ctx), "handle": handle.Checkpoint(), "handle as context": Checkpoint(handle),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want %v", name, err, context.Canceled)
		}
	}
}

// TestCheckpointBelow: Checkpoint on a context derived from the job's context returns the error of the derived context, and
// yields for the job.
func TestCheckpointBelow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		var all sync.WaitGroup
		all.Go(func() {
			err := run(t.Context(), p, func(ctx context.Context) error {
				below, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
				defer cancel()
				if err := spin(below, time.Second); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
				}
				return Checkpoint(ctx)
			})
			if err != nil {
				t.Errorf("the job's own context has not ended: %v", err)
			}
		})
		time.Sleep(time.Millisecond)
		before := time.Now()
		run(t.Context(), p, nothing)
		if got := time.Since(before); got > time.Millisecond {
			t.Errorf("a new job waited %v, want at most 1ms", got)
		}
		all.Wait()
	})
}

// TestAfterTheEnd: after the job has ended, calls with its context have no effect.
func TestAfterTheEnd(t *testing.T) {
	p := newPool(t, Config{Tokens: 1})
	var kept context.Context
	run(t.Context(), p, func(ctx context.Context) error { kept = ctx; return nil })
	if err := errors.Join(Checkpoint(kept), Blocking(kept, func() error { return nil })); err != nil {
		t.Error(err)
	}
}

func TestBlocking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1})
		var all sync.WaitGroup
		all.Go(func() {
			err := run(t.Context(), p, func(ctx context.Context) error {
				return Blocking(ctx, func() error {
					return Blocking(ctx, func() error { time.Sleep(time.Second); return io.EOF })
				})
			})
			if !errors.Is(err, io.EOF) {
				t.Errorf("got %v, want %v", err, io.EOF)
			}
		})
		synctest.Wait()
		if s := p.Stats(); s.Running != 0 {
			t.Errorf("running %d, want 0: the only job is blocked", s.Running)
		}
		before := time.Now()
		if err := run(t.Context(), p, nothing); err != nil || time.Since(before) != 0 {
			t.Errorf("got %v after %v, want a free token", err, time.Since(before))
		}
		all.Wait()
		err := run(t.Context(), p, func(ctx context.Context) error { return Blocking(ctx, func() error { panic("blocked") }) })
		if panicked := new(PanicError); !errors.As(err, &panicked) {
			t.Errorf("got %v, want the panic", err)
		}
	})
}

// TestBlockingCancelled: the wait for a token after blocking ends with the context.
func TestBlockingCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1, Lend: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			err := run(ctx, p, func(ctx context.Context) error {
				return Blocking(ctx, func() error { time.Sleep(time.Millisecond); return nil })
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
		})
		synctest.Wait()
		all.Go(func() { run(t.Context(), p, tight(time.Second)) })
		time.Sleep(2 * time.Millisecond)
		cancel()
		all.Wait()
	})
}

func TestFor(t *testing.T) {
	p := newPool(t, Config{Tokens: 1})
	for _, row := range []struct {
		name       string
		n, grain   int
		want       int
		wantPrefix string
	}{
		{"none", 0, 3, 0, ""},
		{"grain 0", 3, 0, 3, ""},
		{"even", 6, 3, 6, ""},
		{"rest", 7, 3, 7, ""},
		{"one grain", 3, 100, 3, ""},
		{"negative", 3, -1, 0, "cpu: For with a grain of -1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			sum := 0
			s := make([]int, row.n)
			err := run(t.Context(), p, func(ctx context.Context) error {
				return For(ctx, s, row.grain, func(v *int) error { *v++; sum++; return nil })
			})
			failed := err != nil && row.wantPrefix != "" && strings.HasPrefix(err.Error(), row.wantPrefix)
			if sum != row.want || !failed && (err != nil || row.wantPrefix != "") {
				t.Errorf("called %d times, %v; want %d, %q", sum, err, row.want, row.wantPrefix)
			}
			for i, v := range s {
				if row.wantPrefix == "" && v != 1 {
					t.Errorf("element %d was visited %d times", i, v)
				}
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := For(ctx, make([]int, 10), 2, func(*int) error { calls++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || calls != 2 {
		t.Errorf("cancelled: got %v after %d calls, want %v after 2", err, calls, context.Canceled)
	}
	if err := For(t.Context(), make([]int, 10), 2, func(*int) error { return io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
}

// TestCodeAddress: codeAddress returns the same address as package reflect.
func TestCodeAddress(t *testing.T) {
	n := 0
	for name, f := range map[string]func(context.Context) (int, error){
		"literal": func(context.Context) (int, error) { return 1, nil },
		"closure": func(context.Context) (int, error) { n++; return n, nil },
	} {
		if got, want := codeAddress(f), reflect.ValueOf(f).Pointer(); got != want {
			t.Errorf("%s: got %#x, want %#x", name, got, want)
		}
	}
}
