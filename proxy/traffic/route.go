package traffic

import (
	"sync"
	"time"
)

// Route is the counters of one route. Each loop calls with its own index.
type Route struct {
	Listener, Name string
	shares         []routeShare
}

// routeShare is what one loop has counted. Its lock is that loop's, but for the moment that it takes to copy a share: one lock
// costs half of what five atomic additions do, and nothing is seen half counted.
type routeShare struct {
	mu sync.Mutex
	tally
	_ [64]byte // so that the next loop's share is on another cache line
}

type tally struct {
	codes   [codes]uint64
	in, out uint64
	retries uint64
	took    spread
}

// Done counts a request that was answered: with what, how long after its first byte the answer's last one was queued, and the
// bytes of both with their heads.
func (r *Route) Done(loop int, c Code, took time.Duration, in, out int64) {
	s := &r.shares[loop]
	s.mu.Lock()
	s.codes[c]++
	s.in += uint64(in)
	s.out += uint64(out)
	s.took.add(took)
	s.mu.Unlock()
}

// Retried counts an attempt that follows a failed one.
func (r *Route) Retried(loop int) {
	s := &r.shares[loop]
	s.mu.Lock()
	s.retries++
	s.mu.Unlock()
}

// RouteStats is what a Route has counted.
type RouteStats struct {
	Listener, Name string
	Requests       map[Code]uint64 // by how they were answered; codes that did not occur are left out
	In, Out        uint64          // bytes of requests and answers, heads included
	Retries        uint64
	Took           Histogram // of all requests
}

func (r *Route) stats() RouteStats {
	var sum tally
	for i := range r.shares {
		sum.add(r.shares[i].copy())
	}
	s := RouteStats{
		Listener: r.Listener, Name: r.Name, Requests: map[Code]uint64{},
		In: sum.in, Out: sum.out, Retries: sum.retries, Took: sum.took.histogram(),
	}
	for c, n := range sum.codes {
		if n > 0 {
			s.Requests[Code(c)] = n
		}
	}
	return s
}

func (s *routeShare) copy() tally {
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
	t.took.join(&o.took)
}
