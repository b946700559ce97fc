package operator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/stream/operator"
)

func ignore[T any](in operator.Stream[T]) operator.Sink {
	return operator.Each(in, func(context.Context, T, int64) error { return nil })
}

func TestPanicEndsTheRun(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	one := operator.FromSlice([]int{1})
	panics := operator.FromSeq(func(func(int) bool) { panic(broken) })
	for _, row := range []struct {
		name string
		sink operator.Sink
	}{
		{"map", ignore(operator.Map(one, func(int) int { panic(broken) }))},
		{"try-map", ignore(operator.TryMap(one, func(int) (int, error) { return 0, broken }))},
		{"key", ignore(operator.GroupBy(one, func(int) int { panic(broken) }, func(in operator.Stream[int]) operator.Stream[int] { return in }, operator.Groups{}))},
		{"source", ignore(panics)},
		{"source whose errors are handled", ignore(operator.OnErrorReturn(panics, func(error) (int, bool) { return 0, true }))},
		{"source that always panics", ignore(operator.OnErrorReturn(operator.RetrySource(panics, operator.Attempts{Max: 1}), func(error) (int, bool) { return 0, true }))},
		{"at the end", ignore(operator.Map(operator.Reduce(one, 0, func(a, b int) int { return a + b }), func(int) int { panic(broken) }))},
		{"sink", operator.Each(one, func(context.Context, int, int64) error { return broken })},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := operator.Run(t.Context(), &operator.Config{Name: "averages"}, row.sink); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "operator: averages: ") {
				t.Errorf("got %v, want operator: averages: ... broken", err)
			}
		})
	}
}

func TestPanicOfATimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := operator.NewInput[int]()
		r, err := operator.Start(t.Context(), nil, ignore(operator.Map(operator.Debounce(in.Stream(), time.Second), func(int) int { panic("broken") })))
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Push(1, 0); err != nil {
			t.Fatal(err)
		}
		var panicked *operator.PanicError
		if err := r.Err(); !errors.As(err, &panicked) || panicked.Value != "broken" || len(panicked.Stack) == 0 {
			t.Errorf("got %v, want a PanicError of broken", err)
		}
		if err := in.Push(2, 0); !errors.As(err, &panicked) {
			t.Errorf("got %v of a push after the end, want the reason", err)
		}
	})
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	one := operator.FromSlice([]int{1})
	used := operator.NewInput[int]().Stream()
	for _, row := range []struct {
		name, want string
		sinks      []operator.Sink
	}{
		{"no sinks", "no sinks", nil},
		{"no windows", "windows of no kind", []operator.Sink{ignore(operator.Buffer(one, operator.Windows{}))}},
		{"no size", "windows of 0s", []operator.Sink{ignore(operator.Buffer(one, operator.Tumbling(0)))}},
		{"many windows", "overlap 3600 times", []operator.Sink{ignore(operator.Buffer(one, operator.Sliding(time.Hour, time.Second)))}},
		{"counted and late", "counted windows", []operator.Sink{ignore(operator.Buffer(one, operator.Counted(1).Late(1)))}},
		{"join of one", "join of 1 streams", []operator.Sink{ignore(operator.Join([]operator.Stream[int]{one}, func(v int) int { return v }, operator.Joining{}))}},
		{"debounce", "debounce with a time of 0s", []operator.Sink{ignore(operator.Debounce(one, 0))}},
		{"take", "take with -1", []operator.Sink{ignore(operator.Take(one, -1))}},
		{"take-last", "take-last with 70000 values", []operator.Sink{ignore(operator.TakeLast(one, 70000))}},
		{"counted-sliding", "overlap 2000 times", []operator.Sink{ignore(operator.Buffer(one, operator.CountedSliding(2000, 1)))}},
		{"repeat", "a pause if it has no end", []operator.Sink{ignore(operator.Repeat(one, 0, 0))}},
		{"repeat of a state", "take between a source and Repeat", []operator.Sink{ignore(operator.Repeat(operator.Take(one, 1), 2, 0))}},
		{"retry of a share", "Share between a source and Repeat", []operator.Sink{ignore(operator.RetrySource(operator.Share(one), operator.Attempts{}))}},
		{"concat of event time", "put EventTime behind it", []operator.Sink{ignore(operator.Concat(one, seconds(1)))}},
		{"an input twice", "Input is the source of another run", []operator.Sink{ignore(used), ignore(used)}},
		{"event time in a group", "put it before GroupBy", []operator.Sink{ignore(operator.GroupBy(one, func(v int) int { return v }, func(in operator.Stream[int]) operator.Stream[int] {
			return operator.EventTime(in, func(int) int64 { return 0 }, operator.Disorder{})
		}, operator.Groups{}))}},
		{"another stream in a group", "a source within a group of GroupBy", []operator.Sink{ignore(operator.GroupBy(one, func(v int) int { return v }, func(operator.Stream[int]) operator.Stream[int] {
			return one
		}, operator.Groups{}))}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := operator.Run(t.Context(), nil, row.sinks...); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		values := make(chan int)
		var got []int
		windows := operator.Buffer(operator.FromChan(values), operator.Tumbling(time.Hour))
		r, err := operator.Start(t.Context(), nil, operator.Each(windows, func(_ context.Context, v []int, _ int64) error {
			got = append(got, v...)
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		values <- 1
		synctest.Wait()
		r.Stop()
		if err := r.Err(); err != nil || got != nil {
			t.Errorf("got %v and error %v after Stop, want neither", got, err)
		}
	})
}

func TestContextEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := operator.Run(ctx, nil, ignore(operator.FromChan(make(chan int)))); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})
}

// A chain allocates nothing for a value.
func TestAllocations(t *testing.T) {
	in := operator.NewInput[reading]()
	hot := operator.Filter(operator.EventTime(in.Stream(), at, operator.Disorder{}), func(r reading) bool { return r.Value > 1 })
	doubled := operator.Map(hot, func(r reading) reading { r.Value *= 2; return r })
	means := operator.GroupBy(doubled, device, func(in operator.Stream[reading]) operator.Stream[operator.Windowed[float64]] {
		return operator.Window(in, operator.Tumbling(10*time.Second), operator.Mean(value))
	}, operator.Groups{})
	r, err := operator.Start(t.Context(), nil, ignore(means))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	n := int64(0)
	push := func() {
		n++
		if err := in.Push(reading{"a", float64(n % 3), n}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		push()
	}
	if allocs := testing.AllocsPerRun(1000, push); allocs > 0 {
		t.Errorf("%v allocations for each value, want none", allocs)
	}
}

// Values of one source keep their order, and those of several sources do not overlap.
func TestOrder(t *testing.T) {
	t.Parallel()
	var sources []operator.Stream[[2]int]
	for source := range 4 {
		sources = append(sources, operator.FromSeq(func(yield func([2]int) bool) {
			for i := range 1000 {
				if !yield([2]int{source, i}) {
					return
				}
			}
		}))
	}
	got, _ := collectStats(t, operator.Merge(sources...))
	for source := range 4 {
		of := slices.DeleteFunc(slices.Clone(got), func(v [2]int) bool { return v[0] != source })
		if len(of) != 1000 || !slices.IsSortedFunc(of, func(a, b [2]int) int { return a[1] - b[1] }) {
			t.Errorf("%d values of source %d, want 1000 in order", len(of), source)
		}
	}
}
