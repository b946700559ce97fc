package pubsub

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/bench/internal/numbered"
)

// collector checks the messages of one tag as they arrive, and records their latency.
type collector struct {
	want    *numbered.Message
	end     atomic.Uint64 // number of the last expected message plus 1
	next    uint64        // number of the next expected message
	samples []time.Duration
	err     error // error of the first wrong message

	arrived *sync.WaitGroup // done when next reaches end
	last    *time.Time      // when the last message arrived; set before arrived is done
}

func (c *collector) take(b []byte) {
	end := c.end.Load()
	sent, err := c.want.Read(b, c.next)
	if err != nil && c.err == nil {
		c.err = err
	}
	if sent != 0 && err == nil {
		c.samples = append(c.samples, time.Duration(time.Now().UnixNano()-sent))
	}
	if c.next++; c.next == end {
		*c.last = time.Now()
		c.arrived.Done()
	}
}

// collectors are the collectors of all tags.
type collectors struct {
	tags    []collector
	last    []time.Time
	arrived sync.WaitGroup
}

func newCollectors(tags, size int) (*collectors, error) {
	cs := &collectors{tags: make([]collector, tags), last: make([]time.Time, tags)}
	for i := range cs.tags {
		m, err := numbered.New(size, 0)
		if err != nil {
			return nil, err
		}
		c := &cs.tags[i]
		c.want, c.arrived, c.last = m, &cs.arrived, &cs.last[i]
	}
	return cs, nil
}

// expect prepares for n more messages of each tag. It is called while no message is in flight.
func (cs *collectors) expect(n int, timed bool) {
	cs.arrived.Add(len(cs.tags))
	for i := range cs.tags {
		c := &cs.tags[i]
		c.samples = c.samples[:0]
		if timed {
			c.samples = slices.Grow(c.samples, n) // so that receiving does not allocate
		}
		c.end.Store(c.next + uint64(n))
	}
}

// wait waits for the last expected message. It returns an error if a message differs from the one that was sent, or has not
// arrived after timeout.
func (cs *collectors) wait(timeout time.Duration) (time.Time, error) {
	all := make(chan struct{})
	go func() {
		cs.arrived.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(timeout):
		return time.Time{}, fmt.Errorf("pubsub: not all messages arrived within %v", timeout)
	}
	for i := range cs.tags {
		if err := cs.tags[i].err; err != nil {
			return time.Time{}, fmt.Errorf("pubsub: tag %d: %w", i, err)
		}
	}
	return slices.MaxFunc(cs.last, time.Time.Compare), nil
}

// Latency is the time from sending to receiving, in microseconds.
type Latency struct{ P50, P99, P999, Max float64 }

// latency summarizes samples, and sorts them.
func latency(samples []time.Duration) Latency {
	slices.Sort(samples)
	return Quantiles(samples)
}

// Quantiles summarizes sorted samples.
func Quantiles(sorted []time.Duration) Latency {
	if len(sorted) == 0 {
		return Latency{}
	}
	at := func(part float64) float64 {
		i := int(math.Ceil(part*float64(len(sorted)))) - 1 // nearest rank
		return float64(sorted[max(i, 0)]) / float64(time.Microsecond)
	}
	return Latency{at(0.5), at(0.99), at(0.999), at(1)}
}

// sketchSize is the largest number of samples in a sketch.
const sketchSize = 1000

// sketch returns at most sketchSize of the samples, which are sorted: those in the middle of parts of equal length.
func sketch(sorted []time.Duration) []time.Duration {
	n := min(len(sorted), sketchSize)
	some := make([]time.Duration, n)
	for i := range some {
		some[i] = sorted[(2*i+1)*len(sorted)/(2*n)]
	}
	return some
}

// latencies returns the Latency of each tag, and of all tags together the Latency and a sketch.
func (cs *collectors) latencies() (tags []Latency, all Latency, some []time.Duration) {
	var pooled []time.Duration
	for i := range cs.tags {
		pooled = append(pooled, cs.tags[i].samples...)
		tags = append(tags, latency(cs.tags[i].samples))
	}
	all = latency(pooled)
	return tags, all, sketch(pooled)
}
