package balance

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	halfLife   = 10 * time.Second // after this time, a past latency has half its weight
	unmeasured = time.Hour        // assumed latency until the first response
)

// latency is a moving average that reacts immediately to peaks. A request that takes longer than the average replaces
// the average. A shorter request changes the average by a weight that grows with the time since the last change, at
// most once per millisecond. The state is one atomic word, so loops do not wait for each other. The word holds the
// average in ns as a float32, and the time of the last change in ms modulo 2^32. Zero means that nothing was
// measured.
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

// decayed returns the average in ns. The average decays with time, so that an endpoint that was slow is tried again.
// It is 0 if nothing was measured.
func (l *latency) decayed(now time.Duration) float64 {
	average, age := unpackLatency(l.word.Load(), now)
	if age > 0 {
		average *= decay(age)
	}
	return average
}

// lastAverage returns the average after the last request, without decay.
func (l *latency) lastAverage() time.Duration {
	average, _ := unpackLatency(l.word.Load(), 0)
	return time.Duration(average)
}

// unpackLatency splits a word into the average in ns and its age in ms. The age is 0 if the word was changed at a
// later time than now; the clocks of two loops may differ.
func unpackLatency(word uint64, now time.Duration) (average float64, age int32) {
	return float64(math.Float32frombits(uint32(word >> 32))), max(int32(millis(now)-uint32(word)), 0)
}

// decay returns the factor by which an average of that age, in ms, is multiplied.
func decay(age int32) float64 {
	return math.Exp2(-float64(age) / float64(halfLife/time.Millisecond))
}

func millis(d time.Duration) uint32 { return uint32(d / time.Millisecond) }

// cheaper reports whether a request would probably take less time at b than at a. The estimate assumes that an endpoint of mean weight
// serves one request at a time. An endpoint of n times the mean weight serves n requests at a time. An idle endpoint
// without a measured latency has cost 0, so that the next request measures it. An endpoint whose last response was an error counts as at
// least as slow as the other one: its latency decays and is not measured again, which would attract ever more requests to quick errors.
func cheaper(a, b *Endpoint, mean float64, now time.Duration) bool {
	latencyA, latencyB := a.latency.decayed(now), b.latency.decayed(now)
	if a.lastFailed.Load() {
		latencyA = max(latencyA, latencyB)
	}
	if b.lastFailed.Load() {
		latencyB = max(latencyA, latencyB)
	}
	return b.cost(latencyB, mean) < a.cost(latencyA, mean)
}

// cost estimates how long a request would take at e with that latency, in ns.
func (e *Endpoint) cost(latency, mean float64) float64 {
	active := float64(e.load.active())
	if latency == 0 && active > 0 {
		latency = float64(unmeasured)
	}
	return latency * (active*mean/float64(e.weight.Load()) + 1)
}

// observeLatency adds a request to e's latency. Errors do not change it: quick ones must not make e look fast, and the time of slow ones
// is often the caller's limit.
func (e *Endpoint) observeLatency(o Outcome, took, now time.Duration) {
	if failed := o != Success; !outcomes[o].silent && e.lastFailed.Load() != failed {
		e.lastFailed.Store(failed)
	}
	if o == Success && took >= 0 {
		e.latency.observe(took, now)
	}
}
