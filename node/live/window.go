package live

import (
	"time"
)

// maxSamples bounds one window. A resource with more readings is averaged over the newest ones.
const maxSamples = 1024

// window keeps the values of one resource over a span of time.
type window struct {
	times  []int64 // Unix nanoseconds, ascending
	values []float64
}

// add adds a value and returns the average over span, that value included. A value older than the newest one is averaged, but
// does not move the window.
func (w *window) add(t int64, v float64, span time.Duration) float64 {
	w.times, w.values = append(w.times, t), append(w.values, v)
	newest := t
	if n := len(w.times); n > 1 && w.times[n-2] > t {
		newest = w.times[n-2]
		w.times[n-1] = newest
	}
	first := 0
	for w.times[first] <= newest-int64(span) || len(w.times)-first > maxSamples {
		first++
	}
	if first > 0 {
		w.times = append(w.times[:0], w.times[first:]...)
		w.values = append(w.values[:0], w.values[first:]...)
	}
	var sum float64
	for _, each := range w.values {
		sum += each
	}
	return sum / float64(len(w.values))
}

// newest returns the time of the newest value.
func (w *window) newest() int64 { return w.times[len(w.times)-1] }
