package traffic

import "sync"

// Metrics has the counters of a proxy. Its methods may be called by any goroutine.
type Metrics struct {
	loops int

	mu        sync.Mutex
	listeners map[string]*Listener
	routes    map[routeKey]*Route
}

type routeKey struct{ listener, name string }

// NewMetrics returns Metrics for a number of loops.
func NewMetrics(loops int) *Metrics {
	return &Metrics{loops: loops, listeners: map[string]*Listener{}, routes: map[routeKey]*Route{}}
}

// Listener returns the counters of the listener of that name.
func (b *Metrics) Listener(name string) *Listener {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.listeners[name]
	if l == nil {
		l = b.NewListener(name)
		b.listeners[name] = l
	}
	return l
}

// NewListener returns counters at zero that Snapshot leaves out until Keep is given them.
func (b *Metrics) NewListener(name string) *Listener {
	return &Listener{Name: name, perLoop: make([]listenerCounters, b.loops)}
}

// Route returns the counters of the route of that name of a listener.
func (b *Metrics) Route(listener, name string) *Route {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := routeKey{listener, name}
	r := b.routes[at]
	if r == nil {
		r = &Route{Listener: listener, Name: name, perLoop: make([]lockedTally, b.loops)}
		b.routes[at] = r
	}
	return r
}

// Keep forgets all counters but those of the given listeners and routes, as after a reload that removed the others. Requests
// that began before may still count with a forgotten one; Snapshot does not include it. A forgotten name starts at zero when it
// is used again.
func (b *Metrics) Keep(listeners []*Listener, routes []*Route) {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.listeners)
	for _, l := range listeners {
		b.listeners[l.Name] = l
	}
	clear(b.routes)
	for _, r := range routes {
		b.routes[routeKey{r.Listener, r.Name}] = r
	}
}
