package broker

import (
	"math/bits"
	"time"
)

// LatencyBuckets is the number of buckets of a Latency: two for each doubling, from 1 us.
const LatencyBuckets = 52

// Latency counts messages by the time from source to node. Counts[i] is the number of messages below LatencyBound(i).
type Latency struct {
	Counts [LatencyBuckets]uint64
	Sum    time.Duration
}

// LatencyBound returns the upper bound of bucket i. The last bucket has no bound; it also counts all longer times.
func LatencyBound(i int) time.Duration {
	octave := time.Duration(1024) << (i / 2)
	return octave + octave/2*time.Duration(i%2)
}

func latencyBucket(ns int64) int {
	if ns < 1024 {
		return 0
	}
	octave := bits.Len64(uint64(ns)) - 11 // 0 for 1024..2047 ns
	half := int(ns>>(octave+9)) & 1
	return min(octave*2+half+1, LatencyBuckets-1)
}

// latencies collects the latencies of one batch without atomic operations.
type latencies struct {
	counts [LatencyBuckets]uint32
	sum    int64 // nanoseconds
	n      int
}

// maxLatency is the longest latency counted, in nanoseconds; longer ones count as maxLatency. Otherwise the sum could
// overflow for a source whose clock is not set.
const maxLatency = int64(1024<<(LatencyBuckets/2-1)) * 3 / 2 // LatencyBound of the last bucket

// add counts one message that took ns nanoseconds from its source. A negative time, from clocks that differ, counts as
// 0.
func (l *latencies) add(ns int64) {
	ns = min(max(ns, 0), maxLatency)
	l.counts[latencyBucket(ns)]++
	l.sum += ns
	l.n++
}

// publish adds the counts to the broker's Latency and resets them.
func (l *latencies) publish(b *Broker) {
	if l.n == 0 {
		return
	}
	for i, n := range l.counts {
		if n > 0 {
			b.latency[i].Add(uint64(n))
			l.counts[i] = 0
		}
	}
	b.latencySum.Add(l.sum)
	l.sum, l.n = 0, 0
}
