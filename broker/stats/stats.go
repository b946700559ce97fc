// Package stats counts what passes through a broker: messages, their bytes, and how long they took.
package stats

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Traffic counts messages, and the bytes of their frames.
type Traffic struct{ Messages, Bytes uint64 }

// Add adds more.
func (t *Traffic) Add(more Traffic) {
	t.Messages += more.Messages
	t.Bytes += more.Bytes
}

// Counter counts Traffic. All methods may overlap.
type Counter struct{ messages, bytes atomic.Uint64 }

// Add counts messages that have so many bytes together.
func (c *Counter) Add(messages, bytes int) {
	c.messages.Add(uint64(messages))
	c.bytes.Add(uint64(bytes))
}

// Load returns what was counted.
func (c *Counter) Load() Traffic { return Traffic{c.messages.Load(), c.bytes.Load()} }

// LatencyBuckets is the number of buckets of a Latency: two for each doubling, from 1 us.
const LatencyBuckets = 52

// Latency counts messages, or calls, by the time that they took. Counts[i] is the number below LatencyBound(i).
type Latency struct {
	Counts [LatencyBuckets]uint64
	Sum    time.Duration
}

// LatencyBound returns the upper bound of bucket i. The last bucket has no bound; it also counts all longer times.
func LatencyBound(i int) time.Duration {
	octave := time.Duration(1024) << (i / 2)
	return octave + octave/2*time.Duration(i%2)
}

func bucketOf(ns int64) int {
	if ns < 1024 {
		return 0
	}
	octave := bits.Len64(uint64(ns)) - 11 // 0 for 1024..2047 ns
	half := int(ns>>(octave+9)) & 1
	return min(octave*2+half+1, LatencyBuckets-1)
}

// maxLatency is the longest time counted, in nanoseconds; longer ones count as maxLatency. Otherwise the sum could
// overflow for a source whose clock is not set.
const maxLatency = int64(1024<<(LatencyBuckets/2-1)) * 3 / 2 // LatencyBound of the last bucket

// bounded returns ns between 0 and maxLatency. A negative time comes from clocks that differ.
func bounded(ns int64) int64 { return min(max(ns, 0), maxLatency) }

// Count counts n times of ns nanoseconds each.
func (l *Latency) Count(ns int64, n int) {
	ns = bounded(ns)
	l.Counts[bucketOf(ns)] += uint64(n)
	l.Sum += time.Duration(ns * int64(n))
}

// Add adds the counts of another Latency.
func (l *Latency) Add(more *Latency) {
	for i, n := range more.Counts {
		l.Counts[i] += n
	}
	l.Sum += more.Sum
}

// Histogram is a Latency to which Samples are added. All methods may overlap.
type Histogram struct {
	counts [LatencyBuckets]atomic.Uint64
	sum    atomic.Int64 // nanoseconds
}

// Load returns what was counted.
func (h *Histogram) Load() (l Latency) {
	for i := range h.counts {
		l.Counts[i] = h.counts[i].Load()
	}
	l.Sum = time.Duration(h.sum.Load())
	return l
}

// Samples collects the times of one batch without atomic operations.
type Samples struct {
	counts [LatencyBuckets]uint32
	sum    int64 // nanoseconds
	n      int
}

// Add counts one message that took ns nanoseconds.
func (s *Samples) Add(ns int64) {
	ns = bounded(ns)
	s.counts[bucketOf(ns)]++
	s.sum += ns
	s.n++
}

// MoveTo adds the counts to h and resets them.
func (s *Samples) MoveTo(h *Histogram) {
	if s.n == 0 {
		return
	}
	for i, n := range s.counts {
		if n > 0 {
			h.counts[i].Add(uint64(n))
			s.counts[i] = 0
		}
	}
	h.sum.Add(s.sum)
	s.sum, s.n = 0, 0
}
