package operator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/ferry/stream/operator"
)

// measured are readings of 64 devices, of which about a half passes the filter.
func measured() []reading {
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]reading, 1<<16)
	for i := range values {
		values[i] = reading{Device: fmt.Sprintf("device-%02d", i%64), Value: 60 * random.Float64(), At: int64(i) / 1024}
	}
	return values
}

func hot(r reading) bool { return r.Value > 30 }

func means(in operator.Stream[reading]) operator.Stream[operator.Windowed[float64]] {
	return operator.Window(in, operator.Tumbling(10*time.Second), operator.Mean(value))
}

func run[T any](b *testing.B, chain func(operator.Stream[reading]) operator.Stream[T]) {
	values := measured()
	for b.Loop() {
		timed := operator.EventTime(operator.FromSlice(values), at, operator.Disorder{})
		err := operator.Run(b.Context(), nil, operator.Each(chain(operator.Filter(timed, hot)), func(context.Context, T, int64) error { return nil }))
		if err != nil {
			b.Fatal(err)
		}
	}
	perValue(b, len(values))
}

func perValue(b *testing.B, values int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(values), "ns/value")
	b.ReportAllocs()
}

// BenchmarkWindow passes values through a filter, a window and an aggregate.
func BenchmarkWindow(b *testing.B) { run(b, means) }

// BenchmarkGroups does so for each device.
func BenchmarkGroups(b *testing.B) {
	run(b, func(in operator.Stream[reading]) operator.Stream[operator.Keyed[string, operator.Windowed[float64]]] {
		return operator.GroupBy(in, device, means, operator.Groups{})
	})
}

// BenchmarkCounted has windows by count, without event time.
func BenchmarkCounted(b *testing.B) {
	values := measured()
	for b.Loop() {
		means := operator.Window(operator.Filter(operator.FromSlice(values), hot), operator.Counted(100), operator.Mean(value))
		err := operator.Run(b.Context(), nil, operator.Each(means, func(context.Context, operator.Windowed[float64], int64) error { return nil }))
		if err != nil {
			b.Fatal(err)
		}
	}
	perValue(b, len(values))
}

// BenchmarkGroupsLoop is BenchmarkGroups by hand.
func BenchmarkGroupsLoop(b *testing.B) {
	type window struct {
		end, n int64
		sum    float64
	}
	const size = 10 * int64(time.Second)
	values := measured()
	sunk := 0.0
	for b.Loop() {
		devices := map[string]*window{}
		for i := range values {
			v := &values[i]
			if v.Value <= 30 {
				continue
			}
			w := devices[v.Device]
			if w == nil {
				w = &window{}
				devices[v.Device] = w
			}
			if t := at(*v); t >= w.end {
				if w.n > 0 {
					sunk += w.sum / float64(w.n)
				}
				*w = window{end: t - t%size + size}
			}
			w.sum += v.Value
			w.n++
		}
	}
	perValue(b, len(values))
}

// BenchmarkLoop is BenchmarkWindow by hand.
func BenchmarkLoop(b *testing.B) {
	values := measured()
	sunk := 0.0
	for b.Loop() {
		const size = 10 * int64(time.Second)
		start, sum, n := int64(0), 0.0, 0
		for i := range values {
			t := at(values[i])
			if t >= start+size {
				if n > 0 {
					sunk += sum / float64(n)
				}
				start, sum, n = t-t%size, 0, 0
			}
			if values[i].Value > 30 {
				sum += values[i].Value
				n++
			}
		}
		sunk += sum / float64(n)
	}
	perValue(b, len(values))
}

// hundreds adds up the means of each hundred values, as counted does.
type hundreds struct {
	sum, means float64
	n          int
}

func (h *hundreds) add(v float64) {
	h.sum += v
	if h.n++; h.n == 100 {
		h.means += h.sum / 100
		h.sum, h.n = 0, 0
	}
}

func counted(in operator.Stream[reading]) operator.Stream[operator.Windowed[float64]] {
	return operator.Window(in, operator.Counted(100), operator.Mean(value))
}

// discarded runs a stream without a use of its values.
func discarded[T any](b *testing.B, in operator.Stream[T]) {
	if err := operator.Run(b.Context(), nil, ignore(in)); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOperators passes values through a filter and an operator to windows of 100 values, and does the same in a loop.
func BenchmarkOperators(b *testing.B) {
	positive := func(r reading) bool { return r.Value > -1 }
	for _, row := range []struct {
		name  string
		ferry func(b *testing.B, in operator.Stream[reading])
		loop  func(values []reading) float64
	}{
		{"take", func(b *testing.B, in operator.Stream[reading]) { discarded(b, counted(operator.Take(in, 1<<20))) }, func(values []reading) float64 {
			var h hundreds
			n := 0
			for i := range values {
				if values[i].Value > 30 {
					h.add(values[i].Value)
					if n++; n == 1<<20 {
						break
					}
				}
			}
			return h.means
		}},
		{"take-while", func(b *testing.B, in operator.Stream[reading]) {
			discarded(b, counted(operator.TakeWhile(in, positive)))
		}, func(values []reading) float64 {
			var h hundreds
			for i := range values {
				if values[i].Value > 30 {
					if values[i].Value <= -1 {
						break
					}
					h.add(values[i].Value)
				}
			}
			return h.means
		}},
		{"skip-last", func(b *testing.B, in operator.Stream[reading]) { discarded(b, counted(operator.SkipLast(in, 10))) }, func(values []reading) float64 {
			var h hundreds
			var last [10]reading
			n := 0
			for i := range values {
				if values[i].Value > 30 {
					if n >= 10 {
						h.add(last[n%10].Value)
					}
					last[n%10] = values[i]
					n++
				}
			}
			return h.means
		}},
		{"do-on-next", func(b *testing.B, in operator.Stream[reading]) {
			n := 0
			discarded(b, counted(operator.DoOnNext(in, func(reading) { n++ })))
		}, func(values []reading) float64 {
			var h hundreds
			n := 0
			for i := range values {
				if values[i].Value > 30 {
					n++
					h.add(values[i].Value)
				}
			}
			return h.means + float64(n)
		}},
		{"reduce", func(b *testing.B, in operator.Stream[reading]) {
			discarded(b, operator.Reduce(in, 0, func(sum float64, r reading) float64 { return sum + r.Value }))
		}, func(values []reading) float64 {
			sum := 0.0
			for i := range values {
				if values[i].Value > 30 {
					sum += values[i].Value
				}
			}
			return sum
		}},
		{"to-map", func(b *testing.B, in operator.Stream[reading]) { discarded(b, operator.ToMap(in, device, value)) }, func(values []reading) float64 {
			all := map[string]float64{}
			for i := range values {
				if values[i].Value > 30 {
					all[values[i].Device] = values[i].Value
				}
			}
			return float64(len(all))
		}},
		{"counted-sliding", func(b *testing.B, in operator.Stream[reading]) {
			discarded(b, operator.Window(in, operator.CountedSliding(100, 50), operator.Mean(value)))
		}, func(values []reading) float64 {
			var h [2]hundreds
			n := 0
			for i := range values {
				if values[i].Value > 30 {
					h[0].add(values[i].Value)
					if n++; n > 50 {
						h[1].add(values[i].Value)
					}
				}
			}
			return h[0].means + h[1].means
		}},
		{"time-interval", func(b *testing.B, in operator.Stream[reading]) {
			discarded(b, operator.Window(operator.TimeInterval(in), operator.Counted(100), operator.Mean(func(v operator.Interval[reading]) float64 { return float64(v.Since) })))
		}, func(values []reading) float64 {
			var h hundreds
			last := values[0].At
			for i := range values {
				if values[i].Value > 30 {
					h.add(float64(values[i].At - last))
					last = values[i].At
				}
			}
			return h.means
		}},
		{"on-error-return", func(b *testing.B, in operator.Stream[reading]) {
			tried := operator.TryMap(in, func(r reading) (reading, error) { return r, nil })
			discarded(b, counted(operator.OnErrorReturn(tried, func(error) (reading, bool) { return reading{}, false })))
		}, func(values []reading) float64 {
			var h hundreds
			for i := range values {
				if values[i].Value > 30 {
					h.add(values[i].Value)
				}
			}
			return h.means
		}},
		{"zip", func(b *testing.B, in operator.Stream[reading]) {
			both := operator.Share(in)
			discarded(b, operator.Window(operator.Zip(both, operator.Skip(both, 1), func(a, b reading) float64 { return a.Value - b.Value }), operator.Counted(100), operator.Mean(func(v float64) float64 { return v })))
		}, func(values []reading) float64 {
			var h hundreds
			var waits []reading
			n := 0
			for i := range values {
				if values[i].Value > 30 {
					waits = append(waits, values[i])
					if n++; n > 1 {
						h.add(waits[0].Value - values[i].Value)
						waits = append(waits[:0], waits[1:]...)
					}
				}
			}
			return h.means
		}},
	} {
		values := measured()
		b.Run(row.name+"/ferry", func(b *testing.B) {
			for b.Loop() {
				row.ferry(b, operator.Filter(operator.FromSlice(values), hot))
			}
			perValue(b, len(values))
		})
		b.Run(row.name+"/loop", func(b *testing.B) {
			sunk := 0.0
			for b.Loop() {
				sunk += row.loop(values)
			}
			perValue(b, len(values))
		})
	}
}
