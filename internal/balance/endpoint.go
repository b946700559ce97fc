package balance

import (
	"sync/atomic"
	"time"
)

// Endpoint is one endpoint of a Set. Any goroutine may call its methods. It is part of the caller's own type for endpoints, so
// that a request touches one object.
type Endpoint struct {
	// Value is the caller's own object for the endpoint. The package does not use it.
	Value any

	set     *Set
	retired atomic.Bool

	// Changed only with Set.mu held.
	weight       atomic.Uint64 // given, or else configured
	configured   atomic.Uint64 // weight of the last SetShare
	given        bool          // the weight is that of SetWeight
	priority     atomic.Int64
	drained      atomic.Bool  // it gets no requests until that is undone
	down         atomic.Bool  // active health checks have failed
	ejectedUntil atomic.Int64 // end of the ejection in ns; 0 if not ejected

	*endpointCounters
}

// endpointCounters count the requests of an endpoint, and of the endpoint at the same address that it has replaced.
type endpointCounters struct {
	_ cacheLines // every request writes the fields below

	load         load
	conns        atomic.Int64
	latency      latency
	failures     atomic.Int64 // number of failures in a row that are the endpoint's own
	lastFailed   atomic.Bool  // the last response was an error
	ejectedInRow atomic.Int64
	ejections    atomic.Int64
	outcomes     [Outcomes]atomic.Int64 // number of requests by outcome; Success is counted in load
	timesDown    atomic.Int64
	failing      failing

	_ cacheLines
}

// maxWeight keeps the product of a weight and a number of requests below 2^64.
const maxWeight = 1 << 30

// Init makes e an endpoint of s, which gets requests once Replace puts it into s. It is called once, before any other method of
// e. value becomes e.Value. Requests are distributed in proportion to the weights; a weight below 1 counts as 1. Endpoints get
// requests only while no endpoint of a lower priority number is available. before is the endpoint that e replaces, of s or of
// another set, or nil: both have the same counters.
func (e *Endpoint) Init(s *Set, value any, weight, priority int, before *Endpoint) {
	e.Value, e.set = value, s
	e.setShare(weight, priority)
	if before != nil {
		e.endpointCounters = before.endpointCounters
	} else {
		e.endpointCounters = &endpointCounters{}
	}
}

// SetShare changes the weight and the priority of e. A weight of SetWeight stays. It is followed by Replace.
func (e *Endpoint) SetShare(weight, priority int) {
	e.set.mu.Lock()
	defer e.set.mu.Unlock()
	e.setShare(weight, priority)
}

func (e *Endpoint) setShare(weight, priority int) {
	e.configured.Store(uint64(min(max(weight, 1), maxWeight)))
	if !e.given {
		e.weight.Store(e.configured.Load())
	}
	e.priority.Store(int64(priority))
}

// SetWeight gives e another weight than that of SetShare, until SetWeight is called with 0.
func (e *Endpoint) SetWeight(weight int) {
	e.set.mu.Lock()
	defer e.set.mu.Unlock()
	e.setGivenWeight(weight)
	e.set.rebuild(e.set.members.Load().all)
}

func (e *Endpoint) setGivenWeight(weight int) {
	e.given = weight > 0
	if e.given {
		e.weight.Store(uint64(min(weight, maxWeight)))
	} else {
		e.weight.Store(e.configured.Load())
	}
}

// SetDrained decides whether e gets requests. Requests that have begun go on. Pick does not return a drained endpoint, even if there is no
// other.
func (e *Endpoint) SetDrained(drained bool) {
	e.set.mu.Lock()
	defer e.set.mu.Unlock()
	e.drained.Store(drained)
	e.set.rebuild(e.set.members.Load().all)
}

// Weight returns the weight of e.
func (e *Endpoint) Weight() int { return int(e.weight.Load()) }

// Priority returns the priority of e. The lowest number is preferred.
func (e *Endpoint) Priority() int { return int(e.priority.Load()) }

// Down reports whether active health checks have failed.
func (e *Endpoint) Down() bool { return e.down.Load() }

// Retired reports whether e was removed from its set, or its set was closed. Pick may have returned e before.
func (e *Endpoint) Retired() bool { return e.retired.Load() }

// Done ends a request of caller for which Pick returned e. took is the time from Pick to the response; negative means that it says nothing,
// as of a stream. now is the caller's clock.
func (e *Endpoint) Done(o Outcome, caller Caller, took, now time.Duration) {
	e.set.active.Add(-1)
	if o == Success {
		e.load.succeed()
	} else {
		e.load.fail()
		e.outcomes[o].Add(1)
	}
	e.observeLatency(o, took, now)
	e.detectOutlier(o, caller, now)
}
