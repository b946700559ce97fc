package rpc

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	recentPeriod = 10 * time.Second
	fewRecent    = 100         // latencies below which there is no quantile
	recentStep   = time.Second // between two computations of the quantile
)

// recentLatency knows a quantile of the latencies of the last 10 to 20 s.
type recentLatency struct {
	value atomic.Int64 // the quantile in ns; 0 if there are too few latencies

	mu                sync.Mutex
	current, previous [buckets]uint32
	began             time.Duration // of current
	computed          time.Duration // when value was computed
}

// quantile returns the quantile, or 0 if it is not known.
func (r *recentLatency) quantile() time.Duration { return time.Duration(r.value.Load()) }

// add counts a latency. now is monotonic. q is the quantile to be known.
func (r *recentLatency) add(took, now time.Duration, q float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if age := now - r.began; age >= recentPeriod {
		r.previous = r.current
		if age >= 2*recentPeriod {
			r.previous = [buckets]uint32{}
		}
		r.current, r.began = [buckets]uint32{}, now
	}
	r.current[bucketOf(took)]++
	if r.value.Load() == 0 || now-r.computed >= recentStep {
		r.compute(q)
		r.computed = now
	}
}

// compute sets value. The caller holds mu.
func (r *recentLatency) compute(q float64) {
	h := Histogram{Buckets: make([]Bucket, 0, buckets)}
	for i := range r.current {
		n := uint64(r.current[i]) + uint64(r.previous[i])
		h.Buckets = append(h.Buckets, Bucket{bucketEnd(i), n})
		h.Count += n
	}
	if h.Count < fewRecent {
		r.value.Store(0)
		return
	}
	r.value.Store(int64(h.Quantile(q)))
}
