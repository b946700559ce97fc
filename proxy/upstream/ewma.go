package upstream

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	halfLife   = 10 * time.Second // of what is known about an endpoint's latency
	unmeasured = time.Hour        // what a request in flight is thought to take as long as none was answered
)

// latency is a peak-sensitive moving average: a request that takes longer than the average becomes the average, one that takes
// less weighs in by the time since the one before. It is one word, so that no loop waits for another: the average in ns as a
// float32, and the time it was changed at in ms, modulo 2^32. Zero means that nothing is known. Of those that take less, one
// in a millisecond counts.
type latency struct{ word atomic.Uint64 }

// observe adds a request that took so long.
func (l *latency) observe(took, now time.Duration) {
	for {
		word := l.word.Load()
		average, age := read(word, now)
		switch seen := max(float64(took), 1); {
		case word == 0 || seen >= average:
			average = seen
		case age == 0:
			return
		default:
			average = seen + (average-seen)*remains(age)
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

// at returns the average in ns as if a request that took no time had just been answered: what is old weighs less, so that an
// endpoint that was slow is tried again. It is 0 if nothing is known.
func (l *latency) at(now time.Duration) float64 {
	average, age := read(l.word.Load(), now)
	if age > 0 {
		average *= remains(age)
	}
	return average
}

// last returns the average as it was after the last request.
func (l *latency) last() time.Duration {
	average, _ := read(l.word.Load(), 0)
	return time.Duration(average)
}

// read takes a word apart. age is in ms; it is 0 if another loop's clock, which changed the word, is ahead of now.
func read(word uint64, now time.Duration) (average float64, age int32) {
	return float64(math.Float32frombits(uint32(word >> 32))), max(int32(millis(now)-uint32(word)), 0)
}

// remains is how much of the average is left after age ms.
func remains(age int32) float64 {
	return math.Exp2(-float64(age) / float64(halfLife/time.Millisecond))
}

func millis(d time.Duration) uint32 { return uint32(d / time.Millisecond) }

// cost is how long a request would wait at e, at a guess, in ns, where an endpoint of weight mean does one request after the
// other and those of other weights do as many more at once. An endpoint nothing is known of costs nothing, but for one request
// only: that one is to find out.
func (e *Endpoint) cost(mean float64, now time.Duration) float64 {
	average, active := e.latency.at(now), float64(e.load.active())
	if average == 0 && active > 0 {
		average = float64(unmeasured)
	}
	return average * (active*mean/float64(e.weight) + 1)
}

// learn has a request tell about e's latency. An error may come quickly, and must not make e look quick: a failed request
// counts only if it took longer than usual, one without an answer as if it had waited for a connection in vain.
func (e *Endpoint) learn(o Outcome, took, now time.Duration) {
	switch o {
	case Success:
		e.latency.observe(took, now)
	case Failure:
		if float64(took) > e.latency.at(now) {
			e.latency.observe(took, now)
		}
	case ConnectFailure, Reset, Timeout:
		e.latency.observe(max(took, e.cluster.cfg.ConnectTimeout), now)
	}
}
