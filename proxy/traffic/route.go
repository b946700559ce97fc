package traffic

import (
	"sync"
	"time"
)

// Route has the counters of one route. A loop passes its own index to each method.
type Route struct {
	Listener, Name string
	perLoop        []lockedTally
}

// lockedTally has one loop's counters of a route. The loop waits for the lock only while Snapshot copies the tally.
// An uncontended lock costs half as much as five atomic additions. With the lock, a snapshot never includes only part
// of a request.
type lockedTally struct {
	mu sync.Mutex
	tally
	_ [64]byte // keeps the counters of two loops on different cache lines
}

// tally begins with what each request changes: with thousands of routes, few of their cache lines are in the processor's caches.
type tally struct {
	in, out   uint64
	retries   uint64
	durations durationCounts
	codes     [codes]uint64
}

// Done counts a finished request. took is the time from the first byte of the request until the last byte of the
// response is queued. in and out are the bytes of the request and of the response, heads included.
func (r *Route) Done(loop int, c Code, took time.Duration, in, out int64) {
	s := &r.perLoop[loop]
	s.mu.Lock()
	s.codes[c]++
	s.in += uint64(in)
	s.out += uint64(out)
	s.durations.add(took)
	s.mu.Unlock()
}

// Retried counts a retry: an attempt after a failed attempt.
func (r *Route) Retried(loop int) {
	s := &r.perLoop[loop]
	s.mu.Lock()
	s.retries++
	s.mu.Unlock()
}

// RouteStats is a snapshot of a Route.
type RouteStats struct {
	Listener, Name string
	Requests       map[Code]uint64 // number of requests by Code; zero counts are omitted
	In, Out        uint64          // bytes of requests and of responses, heads included
	Retries        uint64
	Took           Histogram // durations of all requests
}

func (r *Route) stats() RouteStats {
	var sum tally
	for i := range r.perLoop {
		sum.add(r.perLoop[i].copy())
	}
	s := RouteStats{
		Listener: r.Listener, Name: r.Name, Requests: map[Code]uint64{},
		In: sum.in, Out: sum.out, Retries: sum.retries, Took: sum.durations.histogram(),
	}
	for c, n := range sum.codes {
		if n > 0 {
			s.Requests[Code(c)] = n
		}
	}
	return s
}

func (s *lockedTally) copy() tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tally
}

func (t *tally) add(o tally) {
	for c, n := range o.codes {
		t.codes[c] += n
	}
	t.in += o.in
	t.out += o.out
	t.retries += o.retries
	t.durations.merge(&o.durations)
}
