package operator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/ferry/stream/operator"
)

// reading is what most tests use. At is in seconds.
type reading struct {
	Device string
	Value  float64
	At     int64
}

func at(r reading) int64 { return r.At * int64(time.Second) }

func value(r reading) float64 { return r.Value }

func device(r reading) string { return r.Device }

// collectStats runs a stream of values that end and returns what it passes on.
func collectStats[T any](t *testing.T, in operator.Stream[T]) (got []T, stats operator.Stats) {
	t.Helper()
	r, err := operator.Start(t.Context(), nil, operator.Each(in, func(_ context.Context, v T, _ int64) error {
		got = append(got, v)
		return nil
	}))
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return got, r.Stats()
}

func want[T comparable](t *testing.T, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// text writes a result as [start,end) in seconds, count and value.
func text[R any](w operator.Windowed[R]) string {
	s := fmt.Sprintf("[%d,%d) %d: %v", w.Start/int64(time.Second), w.End/int64(time.Second), w.Count, w.Value)
	if w.Again {
		s += " again"
	}
	return s
}

func windowed(readings []reading, d operator.Disorder, w operator.Windows) operator.Stream[string] {
	timed := operator.EventTime(operator.FromSlice(readings), at, d)
	return operator.Map(operator.Window(timed, w, operator.Sum(value)), text[float64])
}

func TestWindow(t *testing.T) {
	t.Parallel()
	five := []reading{{"a", 1, 1}, {"a", 2, 3}, {"a", 4, 11}, {"a", 8, 12}, {"a", 16, 35}}
	for _, row := range []struct {
		name     string
		windows  operator.Windows
		readings []reading
		disorder operator.Disorder
		want     []string
		late     uint64
		dropped  uint64
	}{
		{"tumbling", operator.Tumbling(10 * time.Second), five, operator.Disorder{}, []string{"[0,10) 2: 3", "[10,20) 2: 12", "[30,40) 1: 16"}, 0, 0},
		{"before 1970", operator.Tumbling(10 * time.Second), []reading{{"a", 1, -1}, {"a", 2, 0}}, operator.Disorder{}, []string{"[-10,0) 1: 1", "[0,10) 1: 2"}, 0, 0},
		{
			"sliding", operator.Sliding(10*time.Second, 5*time.Second), five,
			operator.Disorder{},
			[]string{"[-5,5) 2: 3", "[0,10) 2: 3", "[5,15) 2: 12", "[10,20) 2: 12", "[30,40) 1: 16", "[35,45) 1: 16"},
			0, 0,
		},
		{"session", operator.Session(5 * time.Second), five, operator.Disorder{}, []string{"[1,8) 2: 3", "[11,17) 2: 12", "[35,40) 1: 16"}, 0, 0},
		{
			"sessions that a value connects", operator.Session(5 * time.Second),
			[]reading{{"a", 1, 1}, {"a", 2, 9}, {"a", 4, 5}, {"a", 8, 30}},
			operator.Disorder{Bound: 20 * time.Second},
			[]string{"[1,14) 3: 7", "[30,35) 1: 8"},
			0, 0,
		},
		{
			"sessions with the gap between them, in order", operator.Session(5 * time.Second),
			[]reading{{"a", 1, 1}, {"a", 2, 6}},
			operator.Disorder{Bound: 20 * time.Second},
			[]string{"[1,6) 1: 1", "[6,11) 1: 2"},
			0, 0,
		},
		{
			"sessions with the gap between them, out of order", operator.Session(5 * time.Second),
			[]reading{{"a", 2, 6}, {"a", 1, 1}},
			operator.Disorder{Bound: 20 * time.Second},
			[]string{"[1,6) 1: 1", "[6,11) 1: 2"},
			0, 0,
		},
		{"counted", operator.Counted(2), five, operator.Disorder{}, []string{"[1,3) 2: 3", "[11,12) 2: 12", "[35,35) 1: 16"}, 0, 0},
		{"counted or timed", operator.CountedOrTimed(2, 5*time.Second), []reading{{"a", 1, 1}, {"a", 2, 9}, {"a", 4, 10}}, operator.Disorder{}, []string{"[1,6) 1: 1", "[9,10) 2: 6"}, 0, 0},
		{"late", operator.Tumbling(10 * time.Second), []reading{{"a", 1, 1}, {"a", 2, 12}, {"a", 4, 3}}, operator.Disorder{}, []string{"[0,10) 1: 1", "[10,20) 1: 2"}, 1, 0},
		{
			"within the disorder", operator.Tumbling(10 * time.Second),
			[]reading{{"a", 1, 1}, {"a", 2, 12}, {"a", 4, 3}},
			operator.Disorder{Bound: 5 * time.Second},
			[]string{"[0,10) 2: 5", "[10,20) 1: 2"},
			0, 0,
		},
		{
			"within the allowed lateness", operator.Tumbling(10 * time.Second).Late(5 * time.Second),
			[]reading{{"a", 1, 1}, {"a", 2, 12}, {"a", 4, 3}, {"a", 8, 15}, {"a", 16, 4}},
			operator.Disorder{},
			[]string{"[0,10) 1: 1", "[0,10) 2: 5 again", "[10,20) 2: 10"},
			1, 0,
		},
		{"too many windows", operator.Tumbling(10 * time.Second).MaxOpen(1), []reading{{"a", 1, 1}, {"a", 2, 12}}, operator.Disorder{Bound: time.Minute}, []string{"[0,10) 1: 1"}, 0, 1},
		{"too many values", operator.Tumbling(10 * time.Second).MaxValues(1), five[:2], operator.Disorder{}, []string{"[0,10) 1: 1"}, 0, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, stats := collectStats(t, windowed(row.readings, row.disorder, row.windows))
			want(t, got, row.want...)
			if stats.Late != row.late || stats.Dropped != row.dropped {
				t.Errorf("%d late and %d dropped, want %d and %d", stats.Late, stats.Dropped, row.late, row.dropped)
			}
		})
	}
}

// The windows of a window see that time has passed after they have got all its results.
func TestWindowOfWindows(t *testing.T) {
	t.Parallel()
	var readings []reading
	for i := range int64(10) {
		readings = append(readings, reading{"a", 1, 5 * i})
	}
	readings = append(readings, reading{"a", 1, 1000})
	timed := operator.EventTime(operator.FromSlice(readings), at, operator.Disorder{})
	ten := operator.Window(timed, operator.Tumbling(10*time.Second), operator.Sum(value))
	twenty := operator.Window(ten, operator.Tumbling(20*time.Second), operator.Sum(func(w operator.Windowed[float64]) float64 { return w.Value }))
	got, stats := collectStats(t, operator.Map(twenty, text[float64]))
	want(t, got, "[0,20) 2: 4", "[20,40) 2: 4", "[40,60) 1: 2", "[1000,1020) 1: 1")
	if stats.Late != 0 {
		t.Errorf("%d late, want 0", stats.Late)
	}
}
