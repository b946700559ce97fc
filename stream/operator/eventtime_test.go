package operator_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"example.com/ferry/stream/operator"
)

// TestFirstTimes: values of the first times that there are make no other value late.
func TestFirstTimes(t *testing.T) {
	t.Parallel()
	times := []int64{math.MinInt64, math.MinInt64 + 5, 3, 7}
	for name, in := range map[string]operator.Stream[int64]{"batch": operator.FromSlice(times), "one by one": operator.FromSeq(slices.Values(times))} {
		timed := operator.EventTime(in, func(v int64) int64 { return v }, operator.Disorder{Bound: time.Second})
		got, stats := collectStats(t, operator.Map(operator.Window(timed, operator.Tumbling(10), operator.Count[int64]()), func(w operator.Windowed[int]) int { return w.Value }))
		if stats.Late != 0 {
			t.Errorf("%s: %d values are late", name, stats.Late)
		}
		sum := 0
		for _, n := range got {
			sum += n
		}
		if sum != len(times) {
			t.Errorf("%s: windows of %v values, want %d together", name, got, len(times))
		}
	}
}

// TestAhead: a device whose clock is a year ahead does not make the values of others late.
func TestAhead(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Hour)
	var times []int64
	for i := range 2000 {
		times = append(times, now.Add(time.Duration(i)*time.Millisecond).UnixNano())
		if i%100 == 50 {
			times = append(times, now.AddDate(1, 0, i).UnixNano())
		}
	}
	for ahead, late := range map[time.Duration]bool{0: true, 24 * time.Hour: false} {
		for name, in := range map[string]operator.Stream[int64]{"batch": operator.FromSlice(times), "one by one": operator.FromSeq(slices.Values(times))} {
			timed := operator.EventTime(in, func(v int64) int64 { return v }, operator.Disorder{Ahead: ahead})
			got, stats := collectStats(t, operator.Map(operator.Window(timed, operator.Tumbling(time.Second), operator.Count[int64]()), func(w operator.Windowed[int]) int { return w.Value }))
			if (stats.Late > 0) != late {
				t.Errorf("Ahead %v, %s: %d values are late", ahead, name, stats.Late)
			}
			if !late && (len(got) != 22 || got[0] != 1000 || got[1] != 1000) {
				t.Errorf("Ahead %v, %s: got windows of %v values, want 2 of 1000 and 20 of 1", ahead, name, got)
			}
		}
	}
}
