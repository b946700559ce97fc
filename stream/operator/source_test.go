package operator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/stream/operator"
)

var errBroken = errors.New("broken")

// ticks has the values from 1 on, one each second, and then fails with an error.
func ticks(n int, err error) operator.Stream[int] {
	return operator.FromFunc(func(ctx context.Context, emit func(int) error) error {
		for i := range n {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := emit(i + 1); err != nil {
				return err
			}
		}
		return err
	})
}

// failing fails as often as it has errors, each time behind a value, and then ends.
func failing(errs ...error) operator.Stream[int] {
	reads := 0
	return operator.FromFunc(func(_ context.Context, emit func(int) error) error {
		reads++
		if err := emit(reads); err != nil || reads > len(errs) {
			return err
		}
		return errs[reads-1]
	})
}

func forever() operator.Stream[int] { return operator.FromChan(make(chan int)) }

// TestSources runs streams of sources that end early, late, or with an error, on a virtual clock. synctest finds goroutines that do not end.
func TestSources(t *testing.T) {
	add := func(a, b int) int { return a + b }
	for _, row := range []struct {
		name string
		in   func() operator.Stream[int]
		want []string // values with their seconds
		err  error
	}{
		{"take", func() operator.Stream[int] { return operator.Take(ticks(100, nil), 2) }, []string{"1 at 1", "2 at 2"}, nil},
		{"take of a merge", func() operator.Stream[int] { return operator.Take(operator.Merge(forever(), ticks(100, nil)), 1) }, []string{"1 at 1"}, nil},
		{"take of a join", func() operator.Stream[int] {
			one := func(int) int { return 1 }
			joined := operator.Join([]operator.Stream[int]{ticks(2, nil), ticks(100, nil)}, one, operator.Joining{Within: time.Hour})
			return operator.Map(operator.Take(joined, 1), func(row []int) int { return row[0] + row[1] })
		}, []string{"2 at 1"}, nil},
		{"take until a time", func() operator.Stream[int] { return operator.TakeUntilBy(forever(), ticks(1, nil)) }, nil, nil},
		{"skip until a time", func() operator.Stream[int] {
			signal := operator.FromFunc(func(_ context.Context, emit func(int) error) error {
				time.Sleep(1500 * time.Millisecond)
				return emit(0)
			})
			return operator.SkipUntilBy(ticks(3, nil), signal)
		}, []string{"2 at 2", "3 at 3"}, nil},
		{"zip with an end", func() operator.Stream[int] { return operator.Zip(ticks(1, nil), ticks(100, nil), add) }, []string{"2 at 1"}, nil},
		{"repeat", func() operator.Stream[int] {
			return operator.Repeat(operator.Map(operator.FromSlice([]int{1, 2}), func(v int) int { return 10 * v }), 3, 5*time.Second)
		}, []string{"10 at 0", "20 at 0", "10 at 5", "20 at 5", "10 at 10", "20 at 10"}, nil},
		{"repeat without end", func() operator.Stream[int] {
			return operator.Take(operator.Repeat(operator.FromSlice([]int{1}), 0, time.Second), 3)
		}, []string{"1 at 0", "1 at 1", "1 at 2"}, nil},
		{"repeat of a failure", func() operator.Stream[int] { return operator.Repeat(failing(errBroken), 3, 0) }, []string{"1 at 0"}, errBroken},
		{"concat", func() operator.Stream[int] {
			return operator.Concat(ticks(1, nil), operator.FromSlice([]int{7}), ticks(2, nil))
		}, []string{"1 at 1", "7 at 1", "1 at 2", "2 at 3"}, nil},
		{"concat of none", func() operator.Stream[int] { return operator.Concat[int]() }, nil, nil},
		{"take of a concat", func() operator.Stream[int] { return operator.Take(operator.Concat(ticks(5, nil), forever()), 1) }, []string{"1 at 1"}, nil},
		{"start-with", func() operator.Stream[int] { return operator.StartWith(ticks(1, nil), 8, 9) }, []string{"8 at 0", "9 at 0", "1 at 1"}, nil},
		{"retry-source", func() operator.Stream[int] {
			return operator.RetrySource(failing(errBroken, errBroken), operator.Attempts{Pause: 2 * time.Second})
		}, []string{"1 at 0", "2 at 2", "3 at 6"}, nil},
		{"retry-source gives up", func() operator.Stream[int] {
			return operator.RetrySource(failing(errBroken, errBroken, errBroken), operator.Attempts{Max: 2, Pause: time.Second})
		}, []string{"1 at 0", "2 at 1"}, errBroken},
		{"retry-source counts failures in a row", func() operator.Stream[int] {
			return operator.Take(operator.RetrySource(ticks(2, errBroken), operator.Attempts{Max: 2, Pause: time.Second, MaxPause: time.Second}), 5)
		}, []string{"1 at 1", "2 at 2", "1 at 4", "2 at 5", "1 at 7"}, nil},
		{"retry-source of a panic", func() operator.Stream[int] {
			reads := 0
			return operator.RetrySource(operator.FromSeq(func(yield func(int) bool) {
				if reads++; reads == 1 {
					panic(errBroken)
				}
				yield(reads)
			}), operator.Attempts{Pause: time.Second})
		}, []string{"2 at 1"}, nil},
		{"on-error-resume", func() operator.Stream[int] {
			return operator.OnErrorResume(ticks(1, errBroken), operator.Map(ticks(1, nil), func(v int) int { return 10 * v }))
		}, []string{"1 at 1", "10 at 2"}, nil},
		{"on-error-resume of a value", func() operator.Stream[int] {
			tried := operator.TryMap(ticks(9, nil), func(v int) (int, error) {
				if v == 2 {
					return 0, errBroken
				}
				return v, nil
			})
			return operator.OnErrorResume(tried, operator.FromSlice([]int{7}))
		}, []string{"1 at 1", "7 at 2"}, nil},
		{"on-error-resume of none", func() operator.Stream[int] { return operator.OnErrorResume(ticks(1, nil), forever()) }, []string{"1 at 1"}, nil},
		{"on-error-resume fails", func() operator.Stream[int] {
			return operator.OnErrorResume(failing(errors.New("first")), failing(errBroken))
		}, []string{"1 at 0", "1 at 0"}, errBroken},
		{"a timeout counts from the start of its source", func() operator.Stream[int] {
			return operator.OnErrorResume(ticks(5, errBroken), operator.Timeout(ticks(1, nil), 2*time.Second))
		}, []string{"1 at 1", "2 at 2", "3 at 3", "4 at 4", "5 at 5", "1 at 6"}, nil},
		{"a timeout of a group", func() operator.Stream[int] {
			timed := func(in operator.Stream[int]) operator.Stream[int] { return operator.Timeout(in, 2*time.Second) }
			groups := operator.GroupBy(operator.Merge(forever(), ticks(2, nil)), func(v int) int { return v }, timed, operator.Groups{})
			return operator.Map(groups, func(v operator.Keyed[int, int]) int { return v.Value })
		}, []string{"1 at 1", "2 at 2"}, operator.ErrTimeout},
		{"errors of a stream whose turn has not come", func() operator.Stream[int] {
			all := operator.Share(ticks(2, nil))
			return operator.Concat(all, operator.TryMap(all, func(int) (int, error) { return 0, errBroken }))
		}, []string{"1 at 1", "2 at 2"}, nil},
		{"on-error-return", func() operator.Stream[int] {
			return operator.OnErrorReturn(failing(errBroken), func(error) (int, bool) { return -1, true })
		}, []string{"1 at 0", "-1 at 0"}, nil},
		{"timeout with a default", func() operator.Stream[int] {
			return operator.Take(operator.OnErrorReturn(operator.Timeout(forever(), 4*time.Second), func(error) (int, bool) { return -1, true }), 2)
		}, []string{"-1 at 4", "-1 at 8"}, nil},
		{"default-after", func() operator.Stream[int] {
			slow := operator.Concat(ticks(1, nil), operator.FromFunc(func(_ context.Context, emit func(int) error) error {
				time.Sleep(5 * time.Second)
				return emit(2)
			}))
			return operator.DefaultAfter(slow, 2*time.Second, -1)
		}, []string{"1 at 1", "-1 at 3", "-1 at 5", "2 at 6"}, nil},
		{"a source that panics", func() operator.Stream[int] {
			broken := operator.FromFunc(func(context.Context, func(int) error) error { panic(errBroken) })
			return operator.Merge(forever(), broken, ticks(100, nil))
		}, nil, errBroken},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var got []string
				err := operator.Run(t.Context(), &operator.Config{Name: "sums"}, operator.Each(row.in(), func(_ context.Context, v int, at int64) error {
					if seconds := time.Since(start).Seconds(); at != time.Now().UnixNano() {
						got = append(got, fmt.Sprintf("%d of %v at %v", v, at, seconds))
					} else {
						got = append(got, fmt.Sprintf("%d at %v", v, seconds))
					}
					return nil
				}))
				want(t, got, row.want...)
				if !errors.Is(err, row.err) || err != nil && !strings.HasPrefix(err.Error(), "operator: sums: ") {
					t.Errorf("got error %v, want %v", err, row.err)
				}
			})
		})
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()
	for taken, want := range map[int]string{2: "[1 2 done]", 9: "[1 2 broken 3 done]"} {
		var seen []any
		tried := operator.TryMap(operator.FromSeq(slices.Values([]int{1, 2, -1, 3})), func(v int) (int, error) {
			if v < 0 {
				return 0, errBroken
			}
			return v, nil
		})
		hooks := operator.DoOnNext(tried, func(v int) { seen = append(seen, v) })
		hooks = operator.DoOnError(hooks, func(err error) { seen = append(seen, err) })
		hooks = operator.DoOnDone(hooks, func() { seen = append(seen, "done") })
		handled := operator.OnErrorReturn(hooks, func(error) (int, bool) { return 0, false })
		collectStats(t, operator.Take(handled, taken))
		if got := fmt.Sprint(seen); got != want {
			t.Errorf("take %d: got %s, want %s", taken, got, want)
		}
	}
}

// An error that DoOnError has seen ends the run, unless it is handled.
func TestDoOnErrorEndsTheRun(t *testing.T) {
	t.Parallel()
	var seen error
	err := operator.Run(t.Context(), nil, ignore(operator.DoOnError(failing(errBroken), func(err error) { seen = err })))
	if !errors.Is(err, errBroken) || !errors.Is(seen, errBroken) {
		t.Errorf("got %v, and %v was seen, want %v", err, seen, errBroken)
	}
}

// A sink that wants no further values ends its stream, not those of others.
func TestErrDone(t *testing.T) {
	t.Parallel()
	both := operator.Share(operator.FromSlice([]int{1, 2, 3}))
	var first, all []int
	err := operator.Run(t.Context(), nil,
		operator.Each(both, func(_ context.Context, v int, _ int64) error {
			first = append(first, v)
			return fmt.Errorf("enough: %w", operator.ErrDone)
		}),
		operator.Each(both, func(_ context.Context, v int, _ int64) error {
			all = append(all, v)
			return nil
		}))
	if err != nil {
		t.Error(err)
	}
	want(t, first, 1)
	want(t, all, 1, 2, 3)
}

func TestToChan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := make(chan int)
		r, err := operator.Start(t.Context(), nil, operator.ToChan(operator.FromSlice([]int{1, 2, 3}), out))
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for v := range out {
			got = append(got, v)
		}
		want(t, got, 1, 2, 3)
		if err := r.Err(); err != nil {
			t.Error(err)
		}
	})
}

// Stop ends a run whose channel is full, and closes the channel.
func TestToChanStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := make(chan int, 1)
		r, err := operator.Start(t.Context(), nil, operator.ToChan(operator.FromSlice([]int{1, 2, 3}), out))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.Stop()
		if err := r.Err(); err != nil {
			t.Errorf("got %v after Stop, want none", err)
		}
		<-out
		if v, ok := <-out; ok {
			t.Errorf("got %d, want a closed channel", v)
		}
	})
}

// A channel that the program has closed is an error of the run.
func TestToChanClosed(t *testing.T) {
	t.Parallel()
	out := make(chan int)
	close(out)
	var panicked *operator.PanicError
	if err := operator.Run(t.Context(), nil, operator.ToChan(operator.FromSlice([]int{1}), out)); !errors.As(err, &panicked) {
		t.Errorf("got %v, want a PanicError", err)
	}
	if err := operator.Run(t.Context(), nil, operator.ToChan(operator.Stream[int]{}, out)); !errors.As(err, &panicked) {
		t.Errorf("got %v of an empty stream, want a PanicError", err)
	}
}

// A run that goes on from a stored state reads the stream that it had read.
func TestConcatState(t *testing.T) {
	store := newMapStore()
	run := func(t *testing.T, values ...int) (pushed error) {
		first, second := operator.NewInput[int](), operator.NewInput[int]()
		var got []int
		both := operator.Concat(first.Stream(), second.Stream())
		r, err := operator.Start(t.Context(), &operator.Config{Store: store}, operator.Each(both, func(_ context.Context, v int, _ int64) error {
			got = append(got, v)
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Stop()
		pushed = first.Push(1, 0)
		first.Close()
		synctest.Wait() // the source of first ends
		if err := second.Push(2, 0); err != nil {
			t.Error(err)
		}
		want(t, got, values...)
		return pushed
	}
	synctest.Test(t, func(t *testing.T) {
		if err := run(t, 1, 2); err != nil {
			t.Error(err)
		}
		if err := run(t, 2); !errors.Is(err, operator.ErrStopped) {
			t.Errorf("got %v of the first stream, want %v", err, operator.ErrStopped)
		}
	})
}
