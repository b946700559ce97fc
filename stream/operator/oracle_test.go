package operator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/stream/operator"
)

// The operators of oracles have the values of a stream, whose times are out of order by a second, behind an EventTime with this bound.
var settled = operator.Disorder{Bound: 2 * time.Second}

func name(r reading) string { return fmt.Sprint(r.Value) }

func low(r reading) bool { return r.Value < 20 }

func odd(r reading) bool { return int(r.Value)%2 == 1 }

func never(reading) bool { return false }

func names(in operator.Stream[reading]) operator.Stream[string] { return operator.Map(in, name) }

func texts[T any](in operator.Stream[T]) operator.Stream[string] {
	return operator.Map(in, func(v T) string { return fmt.Sprint(v) })
}

// each returns the names of some readings.
func each(all []reading) (list []string) {
	for _, r := range all {
		list = append(list, name(r))
	}
	return list
}

// some returns the readings for which keep returns true.
func some(all []reading, keep func(reading) bool) (list []reading) {
	for _, r := range all {
		if keep(r) {
			list = append(list, r)
		}
	}
	return list
}

// index returns where the first reading is for which is returns true; the length if there is none.
func index(all []reading, is func(reading) bool) int {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return i
	}
	return len(all)
}

func upTo(all []reading, n int) []reading { return all[:min(n, len(all))] }

func behind(all []reading, n int) []reading { return all[min(n, len(all)):] }

// oddFails fails for odd values.
func oddFails(r reading) (reading, error) {
	if odd(r) {
		return r, errors.New(name(r))
	}
	return r, nil
}

// oracle is an operator, and what it passes on, computed from a slice.
type oracle struct {
	name    string
	operate func(operator.Stream[reading]) operator.Stream[string]
	want    func([]reading) []string
	ends    func([]reading) int // the number of values it takes before it ends; nil means all
	atEnd   bool                // it passes on nothing before the end
}

func takes(n int) func([]reading) int {
	return func(all []reading) int { return min(n, len(all)) }
}

func takesUpTo(is func(reading) bool) func([]reading) int {
	return func(all []reading) int { return min(index(all, is)+1, len(all)) }
}

func not(is func(reading) bool) func(reading) bool { return func(r reading) bool { return !is(r) } }

var oracles = []oracle{
	{"take", func(in operator.Stream[reading]) operator.Stream[string] { return names(operator.Take(in, 5)) }, func(all []reading) []string { return each(upTo(all, 5)) }, takes(5), false},
	{"take none", func(in operator.Stream[reading]) operator.Stream[string] { return names(operator.Take(in, 0)) }, func([]reading) []string { return nil }, takes(0), true},
	{"take more", func(in operator.Stream[reading]) operator.Stream[string] { return names(operator.Take(in, 500)) }, each, nil, false},
	{"take-while", func(in operator.Stream[reading]) operator.Stream[string] { return names(operator.TakeWhile(in, low)) }, func(all []reading) []string { return each(all[:index(all, not(low))]) }, takesUpTo(not(low)), false},
	{"take-until", func(in operator.Stream[reading]) operator.Stream[string] {
		return names(operator.TakeUntil(in, not(low)))
	}, func(all []reading) []string { return each(upTo(all, index(all, not(low))+1)) }, takesUpTo(not(low)), false},
	{"first-value", func(in operator.Stream[reading]) operator.Stream[string] { return names(operator.FirstValue(in)) }, func(all []reading) []string { return each(upTo(all, 1)) }, takes(1), false},
	{"element-at", func(in operator.Stream[reading]) operator.Stream[string] { return names(operator.ElementAt(in, 3)) }, func(all []reading) []string { return each(upTo(behind(all, 3), 1)) }, takes(4), false},
	{"element-at with a default", func(in operator.Stream[reading]) operator.Stream[string] {
		return names(operator.DefaultIfEmpty(operator.ElementAt(in, 300), reading{Value: -1}))
	}, func([]reading) []string { return []string{"-1"} }, nil, true},
	{"find", func(in operator.Stream[reading]) operator.Stream[string] { return names(operator.Find(in, odd)) }, func(all []reading) []string { return each(upTo(some(all, odd), 1)) }, takesUpTo(odd), false},
	{"skip", func(in operator.Stream[reading]) operator.Stream[string] { return names(operator.Skip(in, 7)) }, func(all []reading) []string { return each(behind(all, 7)) }, nil, false},
	{"skip-while", func(in operator.Stream[reading]) operator.Stream[string] { return names(operator.SkipWhile(in, low)) }, func(all []reading) []string { return each(all[index(all, not(low)):]) }, nil, false},
	{"skip and take", func(in operator.Stream[reading]) operator.Stream[string] {
		return names(operator.Take(operator.Skip(in, 3), 2))
	}, func(all []reading) []string { return each(upTo(behind(all, 3), 2)) }, takes(5), false},
	{"take-last", func(in operator.Stream[reading]) operator.Stream[string] { return names(operator.TakeLast(in, 4)) }, func(all []reading) []string { return each(behind(all, max(0, len(all)-4))) }, nil, true},
	{"last-value", func(in operator.Stream[reading]) operator.Stream[string] { return names(operator.LastValue(in)) }, func(all []reading) []string { return each(behind(all, len(all)-1)) }, nil, true},
	{"last-value with a default", func(in operator.Stream[reading]) operator.Stream[string] {
		return names(operator.DefaultIfEmpty(operator.LastValue(operator.Filter(in, never)), reading{Value: -1}))
	}, func([]reading) []string { return []string{"-1"} }, nil, true},
	{"skip-last", func(in operator.Stream[reading]) operator.Stream[string] { return names(operator.SkipLast(in, 4)) }, func(all []reading) []string { return each(upTo(all, max(0, len(all)-4))) }, nil, false},
	{"the last of the first", func(in operator.Stream[reading]) operator.Stream[string] {
		return names(operator.TakeLast(operator.Take(in, 6), 2))
	}, func(all []reading) []string { return each(behind(upTo(all, 6), 4)) }, takes(6), true},
	{"take-until-by", func(in operator.Stream[reading]) operator.Stream[string] {
		both := operator.Share(in)
		return names(operator.TakeUntilBy(both, operator.Skip(both, 9)))
	}, func(all []reading) []string { return each(upTo(all, 10)) }, takes(10), false},
	{"skip-until-by", func(in operator.Stream[reading]) operator.Stream[string] {
		both := operator.Share(in)
		return names(operator.SkipUntilBy(both, operator.Skip(both, 9)))
	}, func(all []reading) []string { return each(behind(all, 10)) }, nil, false},
	{"contains", func(in operator.Stream[reading]) operator.Stream[string] { return texts(operator.Contains(in, odd)) }, func([]reading) []string { return []string{"true"} }, takesUpTo(odd), false},
	{"contains not", func(in operator.Stream[reading]) operator.Stream[string] { return texts(operator.Contains(in, never)) }, func([]reading) []string { return []string{"false"} }, nil, true},
	{"all", func(in operator.Stream[reading]) operator.Stream[string] { return texts(operator.All(in, not(never))) }, func([]reading) []string { return []string{"true"} }, nil, true},
	{"not all", func(in operator.Stream[reading]) operator.Stream[string] { return texts(operator.All(in, low)) }, func(all []reading) []string { return []string{fmt.Sprint(index(all, not(low)) == len(all))} }, takesUpTo(not(low)), false},
	{"sequence-equal", func(in operator.Stream[reading]) operator.Stream[string] {
		both := operator.Share(in)
		return texts(operator.SequenceEqual(both, operator.Filter(both, not(never)), func(a, b reading) bool { return a == b }))
	}, func([]reading) []string { return []string{"true"} }, nil, true},
	{"sequence-equal to a part", func(in operator.Stream[reading]) operator.Stream[string] {
		both := operator.Share(in)
		return texts(operator.SequenceEqual(both, operator.Take(both, 7), func(a, b reading) bool { return a == b }))
	}, func([]reading) []string { return []string{"false"} }, takes(8), false},
	{"default-if-empty", func(in operator.Stream[reading]) operator.Stream[string] {
		return names(operator.DefaultIfEmpty(in, reading{Value: -1}))
	}, each, nil, false},
	{"start-with", func(in operator.Stream[reading]) operator.Stream[string] {
		return names(operator.StartWith(in, reading{Value: -1}, reading{Value: -2}))
	}, func(all []reading) []string { return append([]string{"-1", "-2"}, each(all)...) }, nil, false},
	{"start of nothing", func(in operator.Stream[reading]) operator.Stream[string] {
		return names(operator.StartWith(operator.IgnoreElements(in), reading{Value: -1}))
	}, func([]reading) []string { return []string{"-1"} }, nil, true},
	{"ignore-elements", func(in operator.Stream[reading]) operator.Stream[string] { return names(operator.IgnoreElements(in)) }, func([]reading) []string { return nil }, nil, true},
	{"reduce", func(in operator.Stream[reading]) operator.Stream[string] {
		return texts(operator.Reduce(in, 0, func(sum int, r reading) int { return sum + int(r.Value) }))
	}, func(all []reading) []string {
		sum := 0
		for _, r := range all {
			sum += int(r.Value)
		}
		return []string{fmt.Sprint(sum)}
	}, nil, true},
	{"to-map", func(in operator.Stream[reading]) operator.Stream[string] {
		return texts(operator.ToMap(in, func(r reading) int { return int(r.Value) % 5 }, value))
	}, func(all []reading) []string {
		want := map[int]float64{}
		for _, r := range all {
			want[int(r.Value)%5] = r.Value
		}
		return []string{fmt.Sprint(want)}
	}, nil, true},
	{"zip-all", func(in operator.Stream[reading]) operator.Stream[string] {
		both := operator.Share(in)
		return operator.Map(operator.ZipAll(both, operator.Skip(both, 1), operator.Skip(both, 2)), func(row []reading) string { return fmt.Sprint(each(row)) })
	}, func(all []reading) (list []string) {
		for i := range len(all) - 2 {
			list = append(list, fmt.Sprint(each(all[i:i+3])))
		}
		return list
	}, nil, false},
	{"counted-sliding", func(in operator.Stream[reading]) operator.Stream[string] { return lists(in, 5, 2) }, slid(5, 2), nil, false},
	{"counted-sliding with gaps", func(in operator.Stream[reading]) operator.Stream[string] { return lists(in, 2, 5) }, slid(2, 5), nil, false},
	{"timestamp", func(in operator.Stream[reading]) operator.Stream[string] {
		return operator.Map(operator.Timestamp(in), func(v operator.Timed[reading]) string {
			return fmt.Sprint(v.Value.Value, time.Duration(v.At))
		})
	}, func(all []reading) (list []string) {
		for _, r := range all {
			list = append(list, fmt.Sprint(r.Value, time.Duration(at(r))))
		}
		return list
	}, nil, false},
	{"time-interval", func(in operator.Stream[reading]) operator.Stream[string] {
		return operator.Map(operator.TimeInterval(in), func(v operator.Interval[reading]) string { return fmt.Sprint(v.Value.Value, v.Since) })
	}, func(all []reading) (list []string) {
		for i, r := range all {
			list = append(list, fmt.Sprint(r.Value, time.Duration(at(r)-at(all[max(0, i-1)]))))
		}
		return list
	}, nil, false},
	{"audit-time", func(in operator.Stream[reading]) operator.Stream[string] {
		return names(operator.AuditTime(in, 3*time.Second))
	}, audited, nil, false},
	{"sample-by", func(in operator.Stream[reading]) operator.Stream[string] {
		both := operator.Share(in)
		return names(operator.SampleBy(operator.Filter(both, low), operator.Filter(both, not(low))))
	}, func(all []reading) (list []string) {
		waits := ""
		for _, r := range slices.Concat(all, []reading{{Value: 100}}) { // as at the end
			if low(r) {
				waits = name(r)
			} else if waits != "" {
				list, waits = append(list, waits), ""
			}
		}
		return list
	}, nil, false},
	{"on-error-return", func(in operator.Stream[reading]) operator.Stream[string] {
		return operator.OnErrorReturn(names(operator.TryMap(in, oddFails)), func(err error) (string, bool) { return "not " + err.Error(), true })
	}, func(all []reading) []string {
		list := each(all)
		for i := range list {
			if odd(all[i]) {
				list[i] = "not " + list[i]
			}
		}
		return list
	}, nil, false},
	{"errors", func(in operator.Stream[reading]) operator.Stream[string] {
		return texts(operator.Errors(operator.TryMap(in, oddFails)))
	}, func(all []reading) []string { return each(some(all, odd)) }, nil, false},
	{"errors and values of a share", func(in operator.Stream[reading]) operator.Stream[string] {
		tried := operator.Share(operator.TryMap(in, oddFails))
		good := operator.OnErrorReturn(tried, func(error) (reading, bool) { return reading{}, false })
		return operator.Merge(names(good), texts(operator.Errors(tried)))
	}, each, nil, false},
	{"hooks", func(in operator.Stream[reading]) operator.Stream[string] {
		return names(operator.DoOnDone(operator.DoOnNext(in, func(reading) {}), func() {}))
	}, each, nil, false},
}

func lists(in operator.Stream[reading], n, step int) operator.Stream[string] {
	return operator.Map(operator.Buffer(in, operator.CountedSliding(n, step)), func(list []reading) string { return fmt.Sprint(each(list)) })
}

func slid(n, step int) func([]reading) []string {
	return func(all []reading) (list []string) {
		for i := 0; i < len(all); i += step {
			list = append(list, fmt.Sprint(each(upTo(all[i:], n))))
		}
		return list
	}
}

// audited is AuditTime behind settled.
func audited(all []reading) (list []string) {
	waits, due, now := "", int64(0), int64(-100)
	for _, r := range all {
		now = max(now, r.At-2)
		if waits != "" && due <= now {
			list, waits = append(list, waits), ""
		}
		if waits == "" {
			due = r.At + 3
		}
		waits = name(r)
	}
	return append(list, waits)
}

// TestOracles compares operators with what they should pass on: behind sources that have values together and one by one, for each group, in
// front of windows, and beside another user of the same source. TestStateSurvives and TestStateAfterKill restart them.
func TestOracles(t *testing.T) {
	t.Parallel()
	all := unsettled()
	timed := func(in operator.Stream[reading]) operator.Stream[reading] { return operator.EventTime(in, at, settled) }
	for _, o := range oracles {
		ends := len(all)
		if o.ends != nil {
			ends = o.ends(all)
		}
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			t.Run("slice", func(t *testing.T) {
				got, _ := collectStats(t, o.operate(timed(operator.FromSlice(all))))
				want(t, got, o.want(all)...)
			})
			if !slices.Contains([]string{"timestamp", "time-interval", "audit-time"}, o.name) { // their results have times
				t.Run("slice, wall clock", func(t *testing.T) {
					got, _ := collectStats(t, o.operate(operator.FromSlice(all)))
					want(t, got, o.want(all)...)
				})
			}
			for _, size := range []int{1, 7, len(all)} {
				t.Run(fmt.Sprint("input of ", size), func(t *testing.T) {
					got, taken := pushed(t, all, size, func(in operator.Stream[reading]) operator.Stream[string] { return o.operate(timed(in)) })
					want(t, got, o.want(all)...)
					if size == 1 && taken != ends {
						t.Errorf("took %d values, want %d", taken, ends)
					}
				})
			}
			t.Run("groups", func(t *testing.T) {
				groups := operator.GroupBy(timed(operator.FromSlice(all)), device, o.operate, operator.Groups{})
				got, _ := collectStats(t, operator.Map(groups, keyed))
				for _, key := range []string{"a", "b", "c"} {
					var list []string
					for _, v := range got {
						if rest, ok := strings.CutPrefix(v, key+" "); ok {
							list = append(list, rest)
						}
					}
					want(t, list, o.want(some(all, func(r reading) bool { return r.Device == key }))...)
				}
			})
			t.Run("windows behind", func(t *testing.T) {
				before, ended := 0, false // windows that emit before the source has ended
				got, _ := pushed(t, all, 1, func(in operator.Stream[reading]) operator.Stream[string] {
					in = operator.DoOnDone(in, func() { ended = true })
					windows := operator.Window(o.operate(timed(in)), operator.Tumbling(5*time.Second), operator.List[string]())
					return operator.FlatMap(windows, func(w operator.Windowed[[]string], emit func(string)) {
						if !ended {
							before++
						}
						for _, v := range w.Value {
							emit(v)
						}
					})
				})
				want(t, got, o.want(all)...)
				if o.ends == nil && !o.atEnd && before < 2 {
					t.Errorf("%d windows have emitted before the end, want more", before)
				}
			})
			t.Run("beside another", func(t *testing.T) {
				both := operator.Share(timed(operator.FromSlice(all)))
				marked := operator.Map(o.operate(both), func(v string) string { return "|" + v })
				got, _ := collectStats(t, operator.Merge(marked, names(both)))
				var results, others []string
				for _, v := range got {
					if v[0] == '|' {
						results = append(results, v[1:])
					} else {
						others = append(others, v)
					}
				}
				want(t, results, o.want(all)...)
				want(t, others, each(all)...)
			})
		})
	}
}

// pushed pushes readings in parts of a size until no further ones are taken, and returns the results and the number of readings taken. A run
// that takes no further ones has ended.
func pushed(t *testing.T, all []reading, size int, operate func(operator.Stream[reading]) operator.Stream[string]) (got []string, taken int) {
	t.Helper()
	in := operator.NewInput[reading]()
	r, err := operator.Start(t.Context(), nil, operator.Each(operate(in.Stream()), func(_ context.Context, v string, _ int64) error {
		got = append(got, v)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	for part := range slices.Chunk(all, size) {
		err := in.Batch(func(push func(reading, int64, uint64)) {
			for _, v := range part {
				push(v, 0, 0)
			}
		})
		if errors.Is(err, operator.ErrStopped) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		taken += len(part)
	}
	if taken == len(all) {
		in.Close()
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if stats := r.Stats(); stats.Late > 0 || stats.Dropped > 0 || stats.Groups > 0 {
		t.Errorf("got %+v, want none late or dropped, and no groups", stats)
	}
	return got, taken
}
