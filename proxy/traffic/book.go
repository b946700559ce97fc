package traffic

import (
	"sync"
	"sync/atomic"
	"time"
)

// Book is the counters of a proxy. Its methods may be called by any goroutine.
type Book struct {
	loops int

	mu        sync.Mutex
	listeners map[string]*Listener
	routes    map[[2]string]*Route
}

// NewBook makes a Book for so many loops.
func NewBook(loops int) *Book {
	return &Book{loops: loops, listeners: map[string]*Listener{}, routes: map[[2]string]*Route{}}
}

// Listener returns the counters of the listener of that name.
func (b *Book) Listener(name string) *Listener {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.listeners[name]
	if l == nil {
		l = &Listener{Name: name, shares: make([]listenerShare, b.loops)}
		b.listeners[name] = l
	}
	return l
}

// Route returns the counters of the route of that name of a listener.
func (b *Book) Route(listener, name string) *Route {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := [2]string{listener, name}
	r := b.routes[at]
	if r == nil {
		r = &Route{Listener: listener, Name: name, shares: make([]routeShare, b.loops)}
		b.routes[at] = r
	}
	return r
}

// Listener is the counters of one listener. Each loop calls with its own index.
type Listener struct {
	Name   string
	shares []listenerShare
}

type listenerShare struct {
	conns   atomic.Int64
	refused [refusals]atomic.Int64
	_       [64]byte
}

// Opened counts a connection that was accepted, Closed one that ended.
func (l *Listener) Opened(loop int) { l.shares[loop].conns.Add(1) }

// Closed counts a connection that ended.
func (l *Listener) Closed(loop int) { l.shares[loop].conns.Add(-1) }

// Refused counts a request that was not forwarded, and why.
func (l *Listener) Refused(loop int, why Refusal) { l.shares[loop].refused[why].Add(1) }

// Route is the counters of one route. Each loop calls with its own index.
type Route struct {
	Listener, Name string
	shares         []routeShare
}

type routeShare struct {
	codes   [codes]atomic.Int64
	in, out atomic.Int64
	retries atomic.Int64
	_       [64]byte
}

// Done counts a request that was answered: with what, how long after its first byte the answer's last one was queued, and the
// bytes of both with their heads.
func (r *Route) Done(loop int, c Code, took time.Duration, in, out int64) {
	s := &r.shares[loop]
	s.codes[c].Add(1)
	s.in.Add(in)
	s.out.Add(out)
}

// Retried counts an attempt that follows a failed one.
func (r *Route) Retried(loop int) { r.shares[loop].retries.Add(1) }
