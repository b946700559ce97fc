package operator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/stream/operator"
)

// Windows over several sources wait for the slowest one, unless it is idle.
func TestWatermarks(t *testing.T) {
	for _, row := range []struct {
		name string
		idle time.Duration
		want []string // the results after each step
	}{
		{"all are awaited", 0, []string{"", "", "", "", "[0,10) 3: 7"}},
		{"but not the idle one", 4 * time.Second, []string{"", "", "", "[0,10) 2: 3", "[0,10) 2: 3"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fast, slow := operator.NewInput[reading](), operator.NewInput[reading]()
				d := operator.Disorder{Idle: row.idle}
				merged := operator.Merge(operator.EventTime(fast.Stream(), at, d), operator.EventTime(slow.Stream(), at, d))
				got := ""
				r, err := operator.Start(t.Context(), nil, operator.Each(operator.Window(merged, operator.Tumbling(10*time.Second), operator.Sum(value)), func(_ context.Context, w operator.Windowed[float64], _ int64) error {
					got += text(w)
					return nil
				}))
				if err != nil {
					t.Fatal(err)
				}
				defer r.Stop()
				steps := []func() error{
					func() error { return slow.Push(reading{"a", 1, 1}, 0) },
					func() error { return fast.Push(reading{"a", 2, 5}, 0) },
					func() error { return fast.Push(reading{"a", 16, 25}, 0) },
					func() error {
						for i := range int64(10) { // the fast source is never idle
							time.Sleep(time.Second)
							if err := fast.Push(reading{"a", 32, 26 + i/4}, 0); err != nil {
								return err
							}
						}
						return nil
					},
					func() error {
						if err := slow.Push(reading{"a", 4, 6}, 0); err != nil {
							return err
						}
						return slow.Push(reading{"a", 8, 15}, 0)
					},
				}
				for i, step := range steps {
					if err := step(); err != nil {
						t.Fatal(err)
					}
					if got != row.want[i] {
						t.Errorf("after step %d: got %q, want %q", i, got, row.want[i])
					}
				}
				late := uint64(0)
				if row.idle > 0 {
					late = 2 // what the idle source sends at last: the windows have ended
				}
				if stats := r.Stats(); stats.Late != late {
					t.Errorf("%d late, want %d", stats.Late, late)
				}
			})
		})
	}
}

// A source that has ended is not awaited.
func TestWatermarkOfAnEndedSource(t *testing.T) {
	t.Parallel()
	ended := operator.EventTime(operator.FromSlice([]reading{{"a", 1, 1}}), at, operator.Disorder{})
	in := operator.NewInput[reading]()
	results := make(chan string, 10)
	merged := operator.Merge(ended, operator.EventTime(in.Stream(), at, operator.Disorder{}))
	r, err := operator.Start(t.Context(), nil, operator.Each(sums(merged), func(_ context.Context, v string, _ int64) error {
		results <- v
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	for _, second := range []int64{2, 20} {
		if err := in.Push(reading{"a", 1, second}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-results; got != "[0,10) 1: 1" && got != "[0,10) 2: 2" { // the slice may come later
		t.Errorf("got %s", got)
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	// The values of one slice, spread over three streams by their last digit.
	share := operator.Share(operator.EventTime(operator.FromSlice([]reading{
		{"a", 10, 1}, {"b", 11, 2}, {"a", 21, 3}, {"a", 32, 4}, {"a", 41, 5}, {"b", 52, 6}, {"a", 62, 20}, {"b", 70, 7}, {"a", 80, 22}, {"a", 91, 23},
	}), at, operator.Disorder{Bound: 15 * time.Second}))
	var streams []operator.Stream[reading]
	for side := range 3 {
		streams = append(streams, operator.Filter(share, func(r reading) bool { return int(r.Value)%10 == side }))
	}
	for _, row := range []struct {
		name    string
		joining operator.Joining
		want    []string
		dropped bool
	}{
		{"within 5 s", operator.Joining{Within: 5 * time.Second}, []string{"[10 21 32]", "[10 41 32]", "[70 11 52]", "[80 91 62]"}, false},
		{"within 3 s", operator.Joining{Within: 3 * time.Second}, []string{"[10 21 32]", "[80 91 62]"}, false},
		{"within 0 s", operator.Joining{}, nil, false},
		{"at most three wait", operator.Joining{Within: 5 * time.Second, Max: 3}, []string{"[10 21 32]"}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			joined := operator.Map(operator.Join(streams, device, row.joining), func(v []reading) string {
				return fmt.Sprint([]float64{v[0].Value, v[1].Value, v[2].Value})
			})
			got, stats := collectStats(t, joined)
			slices.Sort(got)
			want(t, got, row.want...)
			if (stats.Dropped > 0) != row.dropped || stats.Late > 0 {
				t.Errorf("got %d dropped and %d late, want some dropped: %v", stats.Dropped, stats.Late, row.dropped)
			}
		})
	}
}

// What Join keeps does not grow with time.
func TestJoinForgets(t *testing.T) {
	t.Parallel()
	var readings []reading
	for i := range int64(1000) {
		readings = append(readings, reading{"a", float64(i % 2), i})
	}
	share := operator.Share(operator.EventTime(operator.FromSlice(readings), at, operator.Disorder{}))
	even := operator.Filter(share, func(r reading) bool { return r.Value == 0 })
	odd := operator.Filter(share, func(r reading) bool { return r.Value == 1 })
	got, stats := collectStats(t, operator.Join([]operator.Stream[reading]{even, odd}, device, operator.Joining{Within: time.Second, Max: 5}))
	if len(got) != 999 || stats.Dropped > 0 {
		t.Errorf("got %d pairs, %d dropped, want 999 and none", len(got), stats.Dropped)
	}
}

// The values that wait in Zip are bounded.
func TestZipEnds(t *testing.T) {
	t.Parallel()
	many := operator.FromSlice(make([]int, 1<<16+1))
	never := operator.FromChan(make(chan int))
	err := operator.Run(t.Context(), nil, ignore(operator.Zip(many, never, func(a, b int) int { return a + b })))
	if err == nil || err.Error() != "operator: operators: zip: more than 65536 values of one stream wait for the other" {
		t.Errorf("got %v", err)
	}
}
