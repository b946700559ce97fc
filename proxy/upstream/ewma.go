package upstream

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	halfLife   = 10 * time.Second // of the weight of an endpoint's past latencies
	unmeasured = time.Hour        // the assumed latency while no request was answered yet
)

// latency is a peak-sensitive moving average. A request that takes longer than the average becomes the average; a shorter one weighs
// in by the time since the last change, at most once in a millisecond. It is one word, so that loops do not wait for each other: the
// average in ns as a float32, and the time of its last change in ms, modulo 2^32. Zero means that nothing is known.
type latency struct{ word atomic.Uint64 }

// observe adds the duration of one request.
func (l *latency) observe(took, now time.Duration) {
	for {
		word := l.word.Load()
		average, age := unpackLatency(word, now)
		switch seen := max(float64(took), 1); {
		case word == 0 || seen >= average:
			average = seen
		case age == 0:
			return
		default:
			average = seen + (average-seen)*decay(age)
		}
		at := uint32(word)
		if age > 0 || word == 0 {
			at = millis(now)
		}
		if l.word.CompareAndSwap(word, uint64(math.Float32bits(float32(average)))<<32|uint64(at)) {
			return
		}
	}
}

// decayed returns the average in ns, decayed by its age, so that an endpoint that was slow is tried again. It is 0 if nothing is
// known.
func (l *latency) decayed(now time.Duration) float64 {
	average, age := unpackLatency(l.word.Load(), now)
	if age > 0 {
		average *= decay(age)
	}
	return average
}

// lastAverage returns the average after the last request, not decayed.
func (l *latency) lastAverage() time.Duration {
	average, _ := unpackLatency(l.word.Load(), 0)
	return time.Duration(average)
}

// unpackLatency splits a word. age is in ms. It is 0 if the loop that changed the word has a clock ahead of now.
func unpackLatency(word uint64, now time.Duration) (average float64, age int32) {
	return float64(math.Float32frombits(uint32(word >> 32))), max(int32(millis(now)-uint32(word)), 0)
}

// decay returns the factor for an average of that age in ms.
func decay(age int32) float64 {
	return math.Exp2(-float64(age) / float64(halfLife/time.Millisecond))
}

func millis(d time.Duration) uint32 { return uint32(d / time.Millisecond) }

// cost estimates in ns how long a request would take at e. An endpoint of mean weight is assumed to serve one request after the other,
// and one of n times that weight n requests at once. An endpoint without a measured latency costs nothing while it is idle, so that
// one request measures it.
func (e *Endpoint) cost(mean float64, now time.Duration) float64 {
	average, active := e.latency.decayed(now), float64(e.load.active())
	if average == 0 && active > 0 {
		average = float64(unmeasured)
	}
	return average * (active*mean/float64(e.weight) + 1)
}

// observeLatency adds a request to e's latency. A quick error must not make e look fast: a failed request counts only if it took
// longer than the average, and one without a response counts as at least the connect timeout.
func (e *Endpoint) observeLatency(o Outcome, took, now time.Duration) {
	switch o {
	case Success:
		e.latency.observe(took, now)
	case Failure:
		if float64(took) > e.latency.decayed(now) {
			e.latency.observe(took, now)
		}
	case ConnectFailure, Reset, Timeout:
		e.latency.observe(max(took, e.cluster.cfg.ConnectTimeout), now)
	}
}
