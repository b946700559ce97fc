package cpu

import (
	"context"
	"testing"
	"time"
)

// TestAllocs: a job on an idle pool costs one allocation, its Job; a checkpoint costs none.
func TestAllocs(t *testing.T) {
	p := newPool(t, Config{Tokens: 1})
	cancellable, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, row := range []struct {
		name string
		f    func()
		want float64
	}{
		{"Do", func() {
			n, _ = Do(context.Background(), p, func(context.Context) (int, error) { return n + 1, nil })
		}, 1},
		{"Do with a context that can end", func() {
			n, _ = Do(cancellable, p, func(context.Context) (int, error) { return n + 1, nil })
		}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := testing.AllocsPerRun(1000, row.f); got > row.want {
				t.Errorf("%v allocations, want %v", got, row.want)
			}
		})
	}
	_, err := Do(cancellable, p, func(ctx context.Context) (int, error) {
		got := testing.AllocsPerRun(1000, func() {
			if err := Checkpoint(ctx); err != nil {
				t.Error(err)
			}
		})
		if got != 0 {
			t.Errorf("Checkpoint: %v allocations, want 0", got)
		}
		return 0, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func BenchmarkDo(b *testing.B) {
	cancellable, cancel := context.WithCancel(b.Context())
	defer cancel()
	for _, row := range []struct {
		name string
		ctx  context.Context
	}{{"background", context.Background()}, {"cancellable", cancellable}} {
		b.Run(row.name, func(b *testing.B) {
			p, err := New(Config{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n, _ = Do(row.ctx, p, func(context.Context) (int, error) { return n + 1, nil })
			}
		})
	}
}

// BenchmarkHandOver passes a token between two jobs that wait for each other.
func BenchmarkHandOver(b *testing.B) {
	p, err := New(Config{Tokens: 1, FirstSlice: 1, LongestSlice: 1})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	other := func(ctx context.Context) error {
		for {
			From(ctx).setDue()
			if err := Checkpoint(ctx); err != nil {
				return err
			}
		}
	}
	done := make(chan error)
	go func() { done <- run(ctx, p, other) }()
	err = run(b.Context(), p, func(ctx context.Context) error {
		for b.Loop() {
			From(ctx).setDue()
			if err := Checkpoint(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	cancel()
	if <-done; err != nil {
		b.Fatal(err)
	}
}

func BenchmarkCheckpoint(b *testing.B) {
	p, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	err = run(b.Context(), p, func(ctx context.Context) error {
		b.Run("context", func(b *testing.B) {
			for b.Loop() {
				if err := Checkpoint(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("handle", func(b *testing.B) {
			job := From(ctx)
			for b.Loop() {
				if err := job.Checkpoint(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("loop", func(b *testing.B) { // as compiled into a job's own loop
			for i := 0; i < b.N; i++ {
				if err := Checkpoint(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkWaits(b *testing.B) {
	var w waitTimes
	for b.Loop() {
		w.add(0, time.Millisecond)
	}
}
