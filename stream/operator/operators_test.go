package operator_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/stream/operator"
)

// timeline runs an operator on an Input whose values come at times, in seconds from the start, and returns what it passes on, with the
// time. The last pause lets timers fire.
func timeline(t *testing.T, times []int, operate func(operator.Stream[int]) operator.Stream[int]) (got []string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		in, start := operator.NewInput[int](), time.Now()
		r, startErr := operator.Start(t.Context(), nil, operator.Each(operate(in.Stream()), func(_ context.Context, v int, at int64) error {
			if seconds := time.Duration(at - start.UnixNano()).Seconds(); time.Since(start).Seconds() == seconds {
				got = append(got, fmt.Sprintf("%d at %v", v, seconds))
			} else {
				got = append(got, fmt.Sprintf("%d of %v at %v", v, seconds, time.Since(start).Seconds()))
			}
			return nil
		}))
		if startErr != nil {
			t.Fatal(startErr)
		}
		for i, at := range times {
			time.Sleep(time.Duration(at)*time.Second - time.Since(start))
			if err = in.Push(i+1, 0); err != nil {
				break
			}
		}
		time.Sleep(time.Hour)
		in.Close()
		err = r.Err()
	})
	return got, err
}

func TestTimed(t *testing.T) {
	for _, row := range []struct {
		name    string
		times   []int
		operate func(operator.Stream[int]) operator.Stream[int]
		want    []string
	}{
		{
			"debounce",
			[]int{1, 2, 3, 10, 11},
			func(in operator.Stream[int]) operator.Stream[int] { return operator.Debounce(in, 2*time.Second) },
			[]string{"3 at 5", "5 at 13"},
		},
		{
			"throttle",
			[]int{1, 2, 3, 10, 11},
			func(in operator.Stream[int]) operator.Stream[int] { return operator.Throttle(in, 2*time.Second) },
			[]string{"1 at 1", "3 at 3", "4 at 10"},
		},
		{
			"sample",
			[]int{1, 2, 3, 10, 11}, // the test begins at a whole minute
			func(in operator.Stream[int]) operator.Stream[int] { return operator.Sample(in, 4*time.Second) },
			[]string{"3 at 4", "5 at 12"},
		},
		{
			"audit-time",
			[]int{1, 2, 3, 10, 11},
			func(in operator.Stream[int]) operator.Stream[int] { return operator.AuditTime(in, 2*time.Second) },
			[]string{"2 at 3", "3 at 5", "5 at 12"},
		},
		{
			"window",
			[]int{1, 2, 3, 10, 11},
			func(in operator.Stream[int]) operator.Stream[int] {
				return operator.Map(operator.Window(in, operator.Tumbling(4*time.Second), operator.Count[int]()), func(w operator.Windowed[int]) int { return w.Value })
			},
			[]string{"3 of 3.999999999 at 4", "2 of 11.999999999 at 12"},
		},
		{
			"distinct for a time",
			[]int{1, 2, 3, 10, 11},
			func(in operator.Stream[int]) operator.Stream[int] {
				return operator.Distinct(in, func(int) string { return "one key" }, operator.Distinctness{For: 5 * time.Second})
			},
			[]string{"1 at 1", "4 at 10"},
		},
		{
			"retry",
			[]int{1, 2},
			func(in operator.Stream[int]) operator.Stream[int] {
				calls := 0
				return operator.Retry(in, operator.Attempts{Pause: time.Second}, func(_ context.Context, v int) (int, error) {
					if calls++; calls < 3 {
						return 0, errors.New("not yet")
					}
					return 10 * v, nil
				})
			},
			[]string{"10 of 1 at 4", "20 at 4"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := timeline(t, row.times, row.operate)
			if err != nil {
				t.Error(err)
			}
			want(t, got, row.want...)
		})
	}
}

func TestTimeout(t *testing.T) {
	got, err := timeline(t, []int{1, 2, 3, 10, 11}, func(in operator.Stream[int]) operator.Stream[int] { return operator.Timeout(in, 5*time.Second) })
	if !errors.Is(err, operator.ErrTimeout) {
		t.Errorf("got error %v, want %v", err, operator.ErrTimeout)
	}
	want(t, got, "1 at 1", "2 at 2", "3 at 3")
}

func TestRetryGivesUp(t *testing.T) {
	failed := errors.New("never")
	_, err := timeline(t, []int{1}, func(in operator.Stream[int]) operator.Stream[int] {
		return operator.Retry(in, operator.Attempts{Max: 2}, func(context.Context, int) (int, error) { return 0, failed })
	})
	if !errors.Is(err, failed) || err.Error() != "operator: operators: 2 attempts: never" {
		t.Errorf("got error %v, want 2 attempts of %v", err, failed)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	numbers := operator.FromSlice([]int{1, 2, 3, 4, 5})
	add := func(a, b int) int { return a + b }
	for _, row := range []struct {
		name string
		in   operator.Stream[int]
		want []int
	}{
		{"map", operator.Map(numbers, func(v int) int { return v * v }), []int{1, 4, 9, 16, 25}},
		{"filter", operator.Filter(numbers, func(v int) bool { return v%2 == 1 }), []int{1, 3, 5}},
		{"flat-map", operator.FlatMap(numbers, func(v int, emit func(int)) {
			for range v % 3 {
				emit(v)
			}
		}), []int{1, 2, 2, 4, 5, 5}},
		{"scan", operator.Scan(numbers, 10, add), []int{11, 13, 16, 20, 25}},
		{"reduce", operator.Reduce(numbers, 10, add), []int{25}},
		{"distinct", operator.Distinct(numbers, func(v int) int { return v % 2 }, operator.Distinctness{}), []int{1, 2}},
		{"distinct, one key", operator.Distinct(numbers, func(v int) int { return v % 2 }, operator.Distinctness{Max: 1}), []int{1, 2, 3, 4, 5}},
		{"zip", operator.Zip(numbers, operator.FromSlice([]int{10, 20}), add), []int{11, 22}},
		{"merge of none", operator.Merge[int](), nil},
		{"the zero stream", operator.Stream[int]{}, nil},
		{"buffer", operator.Map(operator.Buffer(numbers, operator.Counted(2)), func(v []int) int { return len(v)*100 + v[0] }), []int{201, 203, 105}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, _ := collectStats(t, row.in)
			want(t, got, row.want...)
		})
	}
}

// Shared values reach all users before the next value begins.
func TestShare(t *testing.T) {
	t.Parallel()
	numbers := operator.Share(operator.FromSlice([]int{1, 2}))
	squares := operator.Map(numbers, func(v int) int { return v * v })
	got, _ := collectStats(t, operator.Merge(numbers, squares, numbers))
	want(t, got, 1, 1, 1, 2, 4, 2)
}

func TestAggregates(t *testing.T) {
	t.Parallel()
	in := operator.FromSlice([]reading{{"a", 4, 0}, {"b", 1, 0}, {"c", 7, 0}})
	four := operator.Counted(4)
	show := func(name string) func(any) string { return func(v any) string { return fmt.Sprint(name, " ", v) } }
	all := operator.Merge(
		operator.Map(operator.Map(operator.Window(in, four, operator.Min(value)), unwrap[float64]), show("min")),
		operator.Map(operator.Map(operator.Window(in, four, operator.Max(value)), unwrap[float64]), show("max")),
		operator.Map(operator.Map(operator.Window(in, four, operator.Mean(value)), unwrap[float64]), show("mean")),
		operator.Map(operator.Map(operator.Window(in, four, operator.Count[reading]()), unwrap[int]), show("count")),
		operator.Map(operator.Map(operator.Window(in, four, operator.First(device)), unwrap[string]), show("first")),
		operator.Map(operator.Map(operator.Window(in, four, operator.Last(device)), unwrap[string]), show("last")),
	)
	got, _ := collectStats(t, all)
	seen := map[string]bool{}
	for _, each := range got {
		seen[each] = true
	}
	for _, each := range []string{"min 1", "max 7", "mean 4", "count 3", "first a", "last c"} {
		if !seen[each] {
			t.Errorf("no %q in %q", each, got)
		}
	}
}

func unwrap[R any](w operator.Windowed[R]) any { return w.Value }
