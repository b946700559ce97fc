package operator_test

import (
	"context"
	"testing"
	"time"

	"example.com/ferry/stream/operator"
)

// BenchmarkChain passes values through a filter, a window and an aggregate.
func BenchmarkChain(b *testing.B) {
	values := make([]reading, 1<<16)
	for i := range values {
		values[i] = reading{Device: "pump-1", Value: float64(i % 64), At: int64(i) / 1024}
	}
	for b.Loop() {
		timed := operator.EventTime(operator.FromSlice(values), at, operator.Disorder{})
		hot := operator.Filter(timed, func(r reading) bool { return r.Value > 30 })
		means := operator.Window(hot, operator.Tumbling(10*time.Second), operator.Mean(value))
		err := operator.Run(b.Context(), nil, operator.Each(means, func(context.Context, operator.Windowed[float64], int64) error { return nil }))
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(values)), "ns/value")
	b.ReportAllocs()
}

func BenchmarkLoop(b *testing.B) {
	values := make([]reading, 1<<16)
	for i := range values {
		values[i] = reading{Device: "pump-1", Value: float64(i % 64), At: int64(i) / 1024}
	}
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
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(values)), "ns/value")
}
