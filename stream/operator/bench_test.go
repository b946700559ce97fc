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
