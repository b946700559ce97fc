package window

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// drive adds values at these times, advances the watermark to the newest time minus lateness after each, and describes the windows in the
// order in which they end. A late value is described as such.
func drive(c Config, lateness time.Duration, times ...int64) string {
	w := Windows[[]int64]{Config: c, Merge: func(into, from *[]int64) { *into = append(*into, *from...) }}
	var said []string
	pop := func(each *Window[[]int64]) {
		said = append(said, fmt.Sprintf("%d-%d %v", each.Start, each.End, each.Acc))
	}
	newest := int64(-1 << 62)
	for _, at := range times {
		hit := w.Add(at)
		if len(hit) == 0 {
			said = append(said, fmt.Sprintf("late %d", at))
		}
		for _, each := range hit {
			each.Acc = append(each.Acc, at)
		}
		newest = max(newest, at)
		for each := w.Pop(newest - int64(lateness)); each != nil; each = w.Pop(newest - int64(lateness)) {
			pop(each)
		}
	}
	for each := w.Flush(); each != nil; each = w.Flush() {
		pop(each)
	}
	return strings.Join(said, ", ")
}

func TestWindows(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		config   Config
		lateness time.Duration
		times    []int64
		want     string
	}{
		{"tumbling", Config{Time: 10}, 0, []int64{1, 9, 10, 35}, "0-10 [1 9], 10-20 [10], 30-40 [35]"},
		{"late", Config{Time: 10}, 0, []int64{5, 12, 9, 10}, "0-10 [5], late 9, 10-20 [12 10]"},
		{"lateness", Config{Time: 10}, 3, []int64{5, 12, 9, 13, 8}, "0-10 [5 9], late 8, 10-20 [12 13]"},
		{"before 1970", Config{Time: 10}, 0, []int64{-15, -5}, "-20--10 [-15], -10-0 [-5]"},
		{"sliding", Config{Time: 10, Every: 5}, 0, []int64{2, 7, 11}, "-5-5 [2], 0-10 [2 7], 5-15 [7 11], 10-20 [11]"},
		{"count", Config{Count: 2}, 0, []int64{1, 2, 3, 9, 10}, "1-2 [1 2], 3-9 [3 9], 10-10 [10]"},
		{"count or time", Config{Count: 2, Time: 10}, 0, []int64{3, 4, 5, 15, 16}, "3-13 [3 4], 5-15 [5], 15-25 [15 16]"},
		{"session", Config{Session: 5}, 0, []int64{1, 5, 9, 20, 30}, "1-14 [1 5 9], 20-25 [20], 30-35 [30]"},
		{"session joined by a late value", Config{Session: 5}, 10, []int64{1, 9, 5, 30}, "1-14 [1 9 5], 30-35 [30]"},
	} {
		if got := drive(row.config, row.lateness, row.times...); got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
}

// TestAgainstPlainLoops compares windows of time and sessions with loops over all values, on random times that are out of order by less
// than the lateness, so that none is late.
func TestAgainstPlainLoops(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var times []int64
		at := int64(0)
		for range 50 {
			at += random.Int64N(8)
			times = append(times, at-random.Int64N(20))
		}
		length := 5 + random.Int64N(20)
		every := 1 + random.Int64N(length)
		want := map[string]bool{}
		for start := int64(-100); start < at+100; start++ {
			in := slices.DeleteFunc(slices.Sorted(slices.Values(times)), func(v int64) bool { return v < start || v >= start+length })
			if floor(start, every) == start && len(in) > 0 {
				want[fmt.Sprintf("%d-%d %v", start, start+length, in)] = true
			}
		}
		check(t, seed, Config{Time: time.Duration(length), Every: time.Duration(every)}, times, want)

		want = map[string]bool{}
		sorted := slices.Sorted(slices.Values(times))
		for len(sorted) > 0 {
			n := 1
			for n < len(sorted) && sorted[n]-sorted[n-1] < length {
				n++
			}
			want[fmt.Sprintf("%d-%d %v", sorted[0], sorted[n-1]+length, sorted[:n])] = true
			sorted = sorted[n:]
		}
		check(t, seed, Config{Session: time.Duration(length)}, times, want)
	}
}

func check(t *testing.T, seed uint64, c Config, times []int64, want map[string]bool) {
	t.Helper()
	w := Windows[[]int64]{Config: c, Merge: func(into, from *[]int64) { *into = append(*into, *from...) }}
	newest, lastEnd := int64(-1<<62), int64(-1<<62)
	got := map[string]bool{}
	pop := func(each *Window[[]int64]) {
		if each.End < lastEnd || each.Count != len(each.Acc) {
			t.Errorf("seed %d, %+v: the window %d-%d with %d of %d values follows one that ends at %d", seed, c, each.Start, each.End, len(each.Acc), each.Count, lastEnd)
		}
		lastEnd = each.End
		got[fmt.Sprintf("%d-%d %v", each.Start, each.End, slices.Sorted(slices.Values(each.Acc)))] = true
	}
	for _, at := range times {
		for _, each := range w.Add(at) {
			each.Acc = append(each.Acc, at)
		}
		newest = max(newest, at)
		if due := w.Due(); due != Never && w.Len() == 0 {
			t.Errorf("seed %d: due at %d without a window", seed, due)
		}
		for each := w.Pop(newest - 20); each != nil; each = w.Pop(newest - 20) {
			pop(each)
		}
	}
	for each := w.Flush(); each != nil; each = w.Flush() {
		pop(each)
	}
	for k := range want {
		if !got[k] {
			t.Errorf("seed %d, %+v: no window %s", seed, c, k)
		}
	}
	if len(got) != len(want) {
		t.Errorf("seed %d, %+v: %d windows, want %d", seed, c, len(got), len(want))
	}
}

// TestMaxOpen has values in descending order, of which each would begin a window.
func TestMaxOpen(t *testing.T) {
	t.Parallel()
	w := Windows[int]{Config: Config{Time: time.Second, Count: 2}}
	refused := 0
	for at := int64(10_000); at > 0; at-- {
		if len(w.Add(at)) == 0 {
			refused++
		}
	}
	if w.Len() != defaultMaxOpen || refused != 10_000-defaultMaxOpen {
		t.Errorf("%d windows are open, and %d values are in none", w.Len(), refused)
	}
}

// TestLate: a window that has ended takes late values until Late has passed, and is popped once.
func TestLate(t *testing.T) {
	t.Parallel()
	var refused []string
	w := Windows[int]{
		Config:  Config{Time: 10, Late: 5, MaxOpen: 2},
		New:     func() int { return 100 },
		Refused: func(start int64, late bool) { refused = append(refused, fmt.Sprint(start, late)) },
	}
	state := func(watermark int64) string {
		text := ""
		for each := w.Pop(watermark); each != nil; each = w.Pop(watermark) {
			text += fmt.Sprintf("%d:%d ", each.Start, each.Count)
		}
		return fmt.Sprintf("%sdue %d, %d open", text, w.Due(), w.Len())
	}
	w.Add(3)
	for _, step := range []struct {
		watermark int64
		want      string
		at        int64 // added then
		emitted   bool
		count     int
	}{
		{9, "due 10, 1 open", 5, false, 2},
		{12, "0:2 due 15, 1 open", 4, true, 3},
		{14, "due 15, 1 open", 13, false, 1},
		{14, "due 15, 2 open", 25, false, 0}, // a third window
		{15, "due 20, 1 open", 8, false, 0},  // late
		{20, "10:1 due 25, 1 open", 12, true, 2},
	} {
		if got := state(step.watermark); got != step.want {
			t.Errorf("at %d: got %s, want %s", step.watermark, got, step.want)
		}
		hit := w.Add(step.at)
		if len(hit) == 0 != (step.count == 0) || len(hit) == 1 && (hit[0].Emitted != step.emitted || hit[0].Count != step.count || hit[0].Acc != 100) {
			t.Errorf("at %d: adding %d hits %d windows, want one with %d values", step.watermark, step.at, len(hit), step.count)
		}
	}
	if want := []string{"20 false", "0 true"}; !slices.Equal(refused, want) {
		t.Errorf("refused %q, want %q", refused, want)
	}
}

// TestEndsOfTime: the first and the last times that there are belong to windows.
func TestEndsOfTime(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{{Time: 10}, {Time: 10, Every: 3}, {Session: 10}, {Time: 10, Count: 2}, {Count: 2}, {Time: math.MaxInt64}} {
		for _, at := range []int64{math.MinInt64, math.MinInt64 + 4, math.MaxInt64 - 4} {
			w := Windows[int]{Config: c}
			for _, each := range w.Add(at) {
				if each.Start > at || c.Time+c.Session > 0 && each.End <= at {
					t.Errorf("%+v: %d is in the window from %d to %d", c, at, each.Start, each.End)
				}
			}
			if w.Len() == 0 {
				t.Errorf("%+v: %d is in no window", c, at)
			}
		}
	}
}
