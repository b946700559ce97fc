package operator_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/ferry/stream/operator"
)

type result = operator.Keyed[string, operator.Windowed[float64]]

// emitted is a result with its time.
type emitted struct {
	key   string
	value operator.Windowed[float64]
	at    int64
}

// chains are what TestBatches compares: filters, groups and windows of all kinds.
var chains = map[string]func(in operator.Stream[reading], size time.Duration) operator.Stream[result]{
	"tumbling": func(in operator.Stream[reading], size time.Duration) operator.Stream[result] {
		return unkeyed(operator.Window(operator.Filter(in, hot), operator.Tumbling(size), operator.Mean(value)))
	},
	"late": func(in operator.Stream[reading], size time.Duration) operator.Stream[result] {
		return unkeyed(operator.Window(operator.Filter(in, hot), operator.Tumbling(size).Late(size/2), operator.Sum(value)))
	},
	"sliding": func(in operator.Stream[reading], size time.Duration) operator.Stream[result] {
		return unkeyed(operator.Window(operator.Filter(in, hot), operator.Sliding(size, size/3+1).MaxOpen(5).MaxValues(30), operator.Mean(value)))
	},
	"session": func(in operator.Stream[reading], size time.Duration) operator.Stream[result] {
		return unkeyed(operator.Window(in, operator.Session(size/20+1), operator.Sum(value)))
	},
	"counted": func(in operator.Stream[reading], _ time.Duration) operator.Stream[result] {
		return unkeyed(operator.Window(operator.Filter(in, hot), operator.Counted(7), operator.Mean(value)))
	},
	"two kinds": func(in operator.Stream[reading], size time.Duration) operator.Stream[result] {
		shared := operator.Share(in)
		return operator.Merge(unkeyed(operator.Window(shared, operator.Tumbling(size), operator.Sum(value))), unkeyed(operator.Window(shared, operator.Counted(9), operator.Sum(value))))
	},
	"windows of windows": func(in operator.Stream[reading], size time.Duration) operator.Stream[result] {
		means := operator.Window(operator.Map(in, reading.doubled), operator.Tumbling(size), operator.Mean(func(v float64) float64 { return v }))
		of := func(w operator.Windowed[float64]) float64 { return w.Value }
		return unkeyed(operator.Debounce(operator.Window(means, operator.Tumbling(3*size), operator.Sum(of)), 4*size))
	},
	"groups": func(in operator.Stream[reading], size time.Duration) operator.Stream[result] {
		return operator.GroupBy(operator.Filter(in, hot), device, func(in operator.Stream[reading]) operator.Stream[operator.Windowed[float64]] {
			return operator.Window(operator.Filter(in, func(r reading) bool { return r.Value < 55 }), operator.Tumbling(size), operator.Mean(value))
		}, operator.Groups{Max: 12})
	},
	"counted groups": func(in operator.Stream[reading], _ time.Duration) operator.Stream[result] {
		return operator.GroupBy(operator.Filter(in, hot), device, func(in operator.Stream[reading]) operator.Stream[operator.Windowed[float64]] {
			return operator.Window(in, operator.Counted(3), operator.Mean(value))
		}, operator.Groups{})
	},
	"idle groups": func(in operator.Stream[reading], size time.Duration) operator.Stream[result] {
		return operator.GroupBy(in, device, func(in operator.Stream[reading]) operator.Stream[operator.Windowed[float64]] {
			return operator.Window(in, operator.Tumbling(size), operator.Mean(value))
		}, operator.Groups{Idle: size})
	},
}

func (r reading) doubled() float64 { return 2 * r.Value }

func unkeyed(in operator.Stream[operator.Windowed[float64]]) operator.Stream[result] {
	return operator.Map(in, func(w operator.Windowed[float64]) result {
		return result{Value: w}
	})
}

// TestBatches: sources that have many values at a time give the results of a source that has them one by one, in the same order, with
// as many late values and dropped ones.
func TestBatches(t *testing.T) {
	t.Parallel()
	for name, chain := range chains {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(8) {
				random := rand.New(rand.NewPCG(seed, 3))
				size, disorder := time.Duration(1+random.IntN(400)), operator.Disorder{Bound: time.Duration(random.IntN(60))}
				values := outOfOrder(random)
				of := func(r reading) int64 { return r.At }
				if seed%2 == 0 {
					of = nil
				}
				sources := map[string]func() (operator.Stream[reading], func(*testing.T)){
					"one by one": func() (operator.Stream[reading], func(*testing.T)) {
						in := operator.NewInput[reading]()
						return in.Stream(), func(t *testing.T) {
							for _, v := range values {
								if err := in.Push(v, v.At); err != nil {
									t.Error(err)
								}
							}
							in.Close()
						}
					},
					"batch": func() (operator.Stream[reading], func(*testing.T)) {
						in := operator.NewInput[reading]()
						return in.Stream(), func(t *testing.T) {
							if err := in.Batch(func(push func(reading, int64, uint64)) {
								for _, v := range values {
									push(v, v.At, 0)
								}
							}); err != nil {
								t.Error(err)
							}
							in.Close()
						}
					},
				}
				if of != nil {
					sources["slice"] = func() (operator.Stream[reading], func(*testing.T)) {
						return operator.FromSlice(values), func(*testing.T) {}
					}
				}
				results, stats := map[string][]emitted{}, map[string]operator.Stats{}
				for source, make := range sources {
					in, feed := make()
					var got []emitted
					r, err := operator.Start(t.Context(), &operator.Config{Log: slog.New(slog.DiscardHandler)}, operator.Each(chain(operator.EventTime(in, of, disorder), size),
						func(_ context.Context, v result, at int64) error {
							got = append(got, emitted{v.Key, v.Value, at})
							return nil
						}))
					if err != nil {
						t.Fatal(err)
					}
					feed(t)
					if err := r.Err(); err != nil {
						t.Fatal(err)
					}
					results[source], stats[source] = got, r.Stats()
				}
				for source := range sources {
					if !slices.Equal(results[source], results["one by one"]) || stats[source] != stats["one by one"] {
						t.Fatalf("seed %d, %v, %v, %s: %d results, %+v\n%s\nwant %d, %+v\n%s", seed, size, disorder, source, len(results[source]), stats[source],
							first(results[source]), len(results["one by one"]), stats["one by one"], first(results["one by one"]))
					}
				}
			}
		})
	}
}

func first(list []emitted) string { return fmt.Sprint(list[:min(10, len(list))]) }

// outOfOrder returns readings whose times go up and down, a few of them by much.
func outOfOrder(random *rand.Rand) []reading {
	now := int64(-3000)
	values := make([]reading, 1500)
	for i := range values {
		now += random.Int64N(8)
		t := now - random.Int64N(50)
		switch random.IntN(200) {
		case 0:
			now += 1000
		case 1:
			t -= 2000
		case 2:
			t += 500
		}
		if t == 0 {
			t = 1 // 0 means now
		}
		values[i] = reading{Device: fmt.Sprint(random.IntN(15)), Value: float64(random.IntN(60)), At: t}
	}
	return values
}

// The time that a source gives to a value reaches an EventTime behind operators that take batches.
func TestGivenTimes(t *testing.T) {
	t.Parallel()
	value := func(v operator.Keyed[int, int]) int { return v.Value }
	for name, chain := range map[string]func(operator.Stream[int]) operator.Stream[int]{
		"groups": func(in operator.Stream[int]) operator.Stream[int] {
			same := func(in operator.Stream[int]) operator.Stream[int] { return in }
			return operator.Map(operator.GroupBy(in, func(v int) int { return v % 2 }, same, operator.Groups{}), value)
		},
		"counted": func(in operator.Stream[int]) operator.Stream[int] {
			return operator.Map(operator.Buffer(in, operator.Counted(2)), func(v []int) int { return v[0] })
		},
		"scan": func(in operator.Stream[int]) operator.Stream[int] {
			return operator.Scan(in, 0, func(_, v int) int { return v })
		},
	} {
		var results [2][]string
		for batch := range results {
			in := operator.NewInput[int]()
			timed := operator.EventTime(chain(in.Stream()), nil, operator.Disorder{})
			r, err := operator.Start(t.Context(), nil, operator.Each(timed, func(_ context.Context, v int, at int64) error {
				results[batch] = append(results[batch], fmt.Sprint(v, " at ", at))
				return nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			size := 1 + 3*batch
			for i := 1; i <= 4; i += size {
				if err := in.Batch(func(push func(int, int64, uint64)) {
					for v := i; v < i+size; v++ {
						push(v, int64(10*v), 0)
					}
				}); err != nil {
					t.Fatal(err)
				}
			}
			in.Close()
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(results[0], results[1]) {
			t.Errorf("%s: got %v in a batch, want %v", name, results[1], results[0])
		}
	}
}
