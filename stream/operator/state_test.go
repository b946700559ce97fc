package operator_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/stream/operator"
)

// mapStore is a Store in memory. It loses the commits after the first few.
type mapStore struct {
	values map[string][]byte
	left   int // commits until the next one fails
}

func newMapStore() *mapStore { return &mapStore{map[string][]byte{}, math.MaxInt} }

func (m *mapStore) Load(context.Context) (map[string][]byte, error) { return maps.Clone(m.values), nil }

func (m *mapStore) Commit(_ context.Context, changed map[string][]byte) error {
	if m.left == 0 {
		return errors.New("the process was killed")
	}
	m.left--
	for k, v := range changed {
		if v == nil {
			delete(m.values, k)
		} else {
			m.values[k] = v
		}
	}
	return nil
}

// stateful are operators with state. The results of different groups have no order.
var stateful = []oracle{
	{name: "windows", operate: sums},
	{name: "sliding windows that take late values", operate: func(in operator.Stream[reading]) operator.Stream[string] {
		return operator.Map(operator.Window(in, operator.Sliding(10*time.Second, 5*time.Second).Late(3*time.Second), operator.Max(value)), text[float64])
	}},
	{name: "sessions", operate: func(in operator.Stream[reading]) operator.Stream[string] {
		return operator.Map(operator.Window(in, operator.Session(2*time.Second), operator.Mean(value)), text[float64])
	}},
	{name: "counted", operate: func(in operator.Stream[reading]) operator.Stream[string] {
		return operator.Map(operator.Window(in, operator.CountedOrTimed(4, 8*time.Second), operator.List[reading]()), text[[]reading])
	}},
	{name: "groups within groups", operate: func(in operator.Stream[reading]) operator.Stream[string] {
		inner := func(in operator.Stream[reading]) operator.Stream[string] {
			even := func(r reading) bool { return int(r.Value)%2 == 0 }
			groups := operator.GroupBy(in, even, sums, operator.Groups{Idle: 7 * time.Second})
			return operator.Map(groups, func(v operator.Keyed[bool, string]) string { return fmt.Sprint(v.Key, " ", v.Value) })
		}
		return operator.Map(operator.GroupBy(in, device, inner, operator.Groups{}), keyed)
	}},
	{name: "scan and distinct", operate: func(in operator.Stream[reading]) operator.Stream[string] {
		some := operator.Distinct(in, func(r reading) int { return int(r.Value) % 7 }, operator.Distinctness{Max: 3})
		return operator.Map(operator.Scan(some, math.Inf(-1), func(a float64, r reading) float64 { return max(a, r.Value) }), func(v float64) string { return fmt.Sprint(v) })
	}},
	{name: "debounce and throttle", operate: func(in operator.Stream[reading]) operator.Stream[string] {
		held := operator.Throttle(operator.Debounce(in, 2*time.Second), 5*time.Second)
		return operator.Map(held, func(r reading) string { return fmt.Sprint(r) })
	}},
	{name: "sample", operate: func(in operator.Stream[reading]) operator.Stream[string] {
		return operator.Map(operator.Sample(in, 4*time.Second), func(r reading) string { return fmt.Sprint(r) })
	}},
	{name: "join and zip", operate: func(in operator.Stream[reading]) operator.Stream[string] {
		both := operator.Share(in)
		a := operator.Filter(both, func(r reading) bool { return int(r.Value)%3 == 0 })
		b := operator.Filter(both, func(r reading) bool { return int(r.Value)%3 == 1 })
		joined := operator.Map(operator.Join([]operator.Stream[reading]{a, b}, device, operator.Joining{Within: 4 * time.Second}), func(v []reading) string { return fmt.Sprint(v) })
		zipped := operator.Zip(a, b, func(a, b reading) string { return fmt.Sprint(a, b) })
		return operator.Merge(joined, zipped)
	}},
	{name: "a window behind groups", operate: func(in operator.Stream[reading]) operator.Stream[string] {
		each := operator.GroupBy(in, device, sums, operator.Groups{})
		return operator.Map(operator.Window(each, operator.Tumbling(20*time.Second), operator.Count[operator.Keyed[string, string]]()), text[int])
	}},
}

// unsettled are readings of three devices whose times are up to three seconds out of order.
func unsettled() (all []reading) {
	for i := range int64(40) {
		all = append(all, reading{string(rune('a' + i%3)), float64(i * i % 31), i + i/10*6 - i*i%4})
	}
	return all
}

// part runs an operator on some of the readings, with their sequence numbers. Unless they are the last ones, it then stops.
func part(t *testing.T, store operator.Store, operate func(operator.Stream[reading]) operator.Stream[string], readings []reading, from, to int) (got []string, err error) {
	t.Helper()
	in := operator.NewInput[reading]()
	timed := operator.EventTime(in.Stream(), at, operator.Disorder{Bound: 2 * time.Second})
	r, err := operator.Start(t.Context(), &operator.Config{Store: store}, operator.Each(operate(timed), func(_ context.Context, v string, _ int64) error {
		got = append(got, v)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	for i := from; i < to; i++ {
		err := in.Batch(func(push func(reading, int64, uint64)) { push(readings[i], 0, uint64(i+1)) })
		if errors.Is(err, operator.ErrStopped) {
			return got, r.Err()
		}
		if err != nil {
			return got, err
		}
	}
	if to == len(readings) {
		in.Close()
		err = r.Err()
	}
	return got, err
}

// inGroups writes results, of which a group's begin with its key.
func inGroups(parts ...[]string) string {
	all := slices.Concat(parts...)
	slices.SortStableFunc(all, func(a, b string) int {
		keyOf := func(v string) string { return v[:max(0, strings.Index(v, "["))] }
		return strings.Compare(keyOf(a), keyOf(b))
	})
	return strings.Join(all, "\n")
}

// TestStateSurvives stops a run behind each value, starts another one, which gets the last values again, and compares what both have
// passed on with what one run does.
func TestStateSurvives(t *testing.T) {
	t.Parallel()
	readings := unsettled()
	for _, row := range slices.Concat(stateful, oracles) {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			whole, err := part(t, nil, row.operate, readings, 0, len(readings))
			if err != nil || row.want == nil && len(whole) < 3 {
				t.Fatalf("got %d results and error %v of one run", len(whole), err)
			}
			for cut := range readings {
				store := newMapStore()
				first, err := part(t, store, row.operate, readings, 0, cut)
				if err != nil {
					t.Fatal(err)
				}
				second, err := part(t, store, row.operate, readings, max(0, cut-3), len(readings))
				if err != nil {
					t.Fatal(err)
				}
				if got, want := inGroups(first, second), inGroups(whole); got != want {
					t.Fatalf("cut behind %d values: got\n%s\nwant\n%s", cut, got, want)
				}
			}
		})
	}
}

// TestStateAfterKill lets a commit fail, so that what the run has passed on since is passed on again, and nothing else is.
func TestStateAfterKill(t *testing.T) {
	t.Parallel()
	readings := unsettled()
	for _, row := range slices.Concat(stateful, oracles) {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			whole, err := part(t, nil, row.operate, readings, 0, len(readings))
			if err != nil {
				t.Fatal(err)
			}
			for commits := range readings {
				store := newMapStore()
				store.left = commits
				first, err := part(t, store, row.operate, readings, 0, len(readings))
				if err == nil && row.ends != nil {
					return // it had ended before
				}
				if err == nil {
					t.Fatalf("the run did not fail after %d commits", commits)
				}
				store.left = math.MaxInt
				second, err := part(t, store, row.operate, readings, 0, len(readings))
				if err != nil {
					t.Fatal(err)
				}
				// The results of the value whose commit failed come twice.
				repeated := len(first) + len(second) - len(whole)
				if repeated < 0 || inGroups(first[:len(first)-repeated], second) != inGroups(whole) {
					t.Fatalf("after %d commits: got %q and then %q, want %q", commits, first, second, whole)
				}
			}
		})
	}
}

func TestStateOfOtherOperators(t *testing.T) {
	t.Parallel()
	store, readings := newMapStore(), unsettled()
	if _, err := part(t, store, stateful[0].operate, readings, 0, 5); err != nil {
		t.Fatal(err)
	}
	in := operator.NewInput[reading]()
	if _, err := operator.Start(t.Context(), &operator.Config{Store: store}, ignore(in.Stream())); err == nil || !strings.Contains(err.Error(), "the operators have changed") {
		t.Errorf("got %v, want that the operators have changed", err)
	}
}

func TestStateThatCannotBeStored(t *testing.T) {
	t.Parallel()
	type private struct{ n int }
	count := operator.Scan(operator.NewInput[int]().Stream(), private{}, func(p private, v int) private { return private{p.n + v} })
	if _, err := operator.Start(t.Context(), &operator.Config{Store: newMapStore()}, ignore(count)); err == nil || !strings.Contains(err.Error(), "the state of scan cannot be stored") {
		t.Errorf("got %v, want that the state cannot be stored", err)
	}
}

// Groups that have ended leave nothing in the store.
func TestStateOfEndedGroups(t *testing.T) {
	t.Parallel()
	store, readings := newMapStore(), make([]reading, 100)
	for i := range readings {
		readings[i] = reading{fmt.Sprint("d", i), 1, int64(i)}
	}
	_, err := part(t, store, func(in operator.Stream[reading]) operator.Stream[string] {
		return operator.Map(operator.GroupBy(in, device, sums, operator.Groups{Idle: time.Second}), keyed)
	}, readings, 0, 99)
	if err != nil {
		t.Fatal(err)
	}
	if len(store.values) > 10 {
		t.Errorf("%d values are stored, want those of the last groups", len(store.values))
	}
}
