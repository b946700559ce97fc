package balance

import (
	"errors"
	"sync"
	"sync/atomic"
)

// The errors of Pick.
var (
	ErrNoEndpoint = errors.New("balance: no endpoint is up: all are drained, or their health checks have failed")
	ErrOverload   = errors.New("balance: too many requests in flight: limits.requests")
)

// Set is a set of equivalent endpoints. All methods may
// be called at the same time. Only Replace, Close, Restore and the methods whose names begin with Set may wait, for each other.
type Set struct {
	cfg     Config // configuration with defaults filled in
	choose  chooser
	members atomic.Pointer[members]
	mu      sync.Mutex // guards changes of members; Pick and Done only use TryLock

	*counters
}

// counters count the requests of a set, and of the set that it has replaced.
type counters struct {
	_ cacheLines
	// turn is the number of requests that round-robin has assigned.
	turn atomic.Uint64
	_    cacheLines
	// active is the number of active requests.
	active atomic.Int64
	_      cacheLines

	waiting atomic.Int64
	refused struct{ requests, connections, waiting atomic.Int64 }
}

// cacheLines keeps the fields before and after it on different cache lines. It spans two lines, because processors
// fetch lines in pairs: writes to one field do not slow down reads of the other.
type cacheLines [128]byte

// New creates a set without endpoints. before is the set that it replaces, or nil: both have one circuit breaker and the same
// counters while requests of before go on. A nil c means the defaults. The caller has checked c. New copies it.
func New(c *Config, before *Set) *Set {
	s := &Set{cfg: c.withDefaults(), counters: &counters{}}
	s.choose = choosers[s.cfg.Policy]
	if before != nil {
		s.counters = before.counters
	}
	s.rebuild(nil)
	return s
}

// Available returns how many endpoints Pick chooses from.
func (s *Set) Available() int { return len(s.members.Load().up) }

// All returns the endpoints of s. The caller must not change the list.
func (s *Set) All() []*Endpoint { return s.members.Load().all }

// Replace makes all the endpoints of s. Those that were in s before keep their state. Replace returns the others that were in s:
// they are retired and must not be put into s again; requests to them may still end. The list belongs to s from now on.
func (s *Set) Replace(all []*Endpoint) (gone []*Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stay := make(map[*Endpoint]bool, len(all))
	for _, e := range all {
		stay[e] = true
	}
	for _, e := range s.members.Load().all {
		if !stay[e] {
			e.retired.Store(true)
			gone = append(gone, e)
		}
	}
	s.rebuild(all)
	return gone
}

// Close retires all endpoints and ends ejection. Requests that have already begun may still call Pick and Done.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.members.Load().all {
		e.retired.Store(true)
	}
}

// SetDown marks an endpoint as down if active health checks have failed, or else as up. An endpoint that is down gets no
// requests.
func (s *Set) SetDown(e *Endpoint, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if down && !e.down.Load() {
		e.timesDown.Add(1)
	}
	e.down.Store(down)
	s.rebuild(s.members.Load().all)
}

// rebuild publishes new members made from all and the current state of its endpoints. Callers hold mu, except New.
func (s *Set) rebuild(all []*Endpoint) { s.members.Store(newMembers(all)) }
