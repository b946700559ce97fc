package operator_test

import (
	"fmt"
	"testing"
	"time"

	"example.com/ferry/stream/operator"
)

func sums(in operator.Stream[reading]) operator.Stream[string] {
	return operator.Map(operator.Window(in, operator.Tumbling(10*time.Second), operator.Sum(value)), text[float64])
}

func keyed(v operator.Keyed[string, string]) string { return v.Key + " " + v.Value }

func TestGroupBy(t *testing.T) {
	t.Parallel()
	readings := []reading{{"a", 1, 1}, {"b", 2, 3}, {"a", 4, 4}, {"c", 1, 5}, {"b", 8, 12}}
	for _, row := range []struct {
		name    string
		groups  operator.Groups
		want    []string
		dropped uint64
	}{
		{"each", operator.Groups{}, []string{"a [0,10) 2: 5", "b [0,10) 1: 2", "c [0,10) 1: 1", "b [10,20) 1: 8"}, 0},
		{"at most two", operator.Groups{Max: 2}, []string{"a [0,10) 2: 5", "b [0,10) 1: 2", "b [10,20) 1: 8"}, 1},
		{"ended when idle", operator.Groups{Max: 2, Idle: time.Second}, []string{"a [0,10) 1: 1", "b [0,10) 1: 2", "a [0,10) 1: 4", "c [0,10) 1: 1", "b [10,20) 1: 8"}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			timed := operator.EventTime(operator.FromSlice(readings), at, operator.Disorder{})
			got, stats := collectStats(t, operator.Map(operator.GroupBy(timed, device, sums, row.groups), keyed))
			want(t, got, row.want...)
			if stats.Dropped != row.dropped || stats.Groups != 0 {
				t.Errorf("%d dropped and %d groups, want %d and none", stats.Dropped, stats.Groups, row.dropped)
			}
		})
	}
}

// What comes behind the groups sees that time has passed after all groups have emitted.
func TestWindowBehindGroups(t *testing.T) {
	t.Parallel()
	var readings []reading
	for i := range int64(30) {
		readings = append(readings, reading{fmt.Sprint("d", i%3), 1, i})
	}
	timed := operator.EventTime(operator.FromSlice(readings), at, operator.Disorder{})
	each := operator.GroupBy(timed, device, func(in operator.Stream[reading]) operator.Stream[operator.Windowed[float64]] {
		return operator.Window(in, operator.Tumbling(5*time.Second), operator.Sum(value))
	}, operator.Groups{})
	all := operator.Window(each, operator.Tumbling(10*time.Second), operator.Sum(func(v operator.Keyed[string, operator.Windowed[float64]]) float64 { return v.Value.Value }))
	got, stats := collectStats(t, operator.Map(all, text[float64]))
	want(t, got, "[0,10) 6: 10", "[10,20) 6: 10", "[20,30) 6: 10")
	if stats.Late != 0 {
		t.Errorf("%d late, want 0", stats.Late)
	}
}
