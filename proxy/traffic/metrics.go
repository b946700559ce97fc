package traffic

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"example.com/ferry/internal/pace"
)

// Metrics has the counters of a proxy. Any goroutine may call its methods.
type Metrics struct {
	loops int

	mu        sync.Mutex
	listeners map[string]*Listener
	routes    map[routeKey]*Route
	kept      []*Route // of the last Keep
	added     []*Route // to routes since then
}

type routeKey struct{ listener, name string }

// NewMetrics creates Metrics. loops is the number of loops.
func NewMetrics(loops int) *Metrics {
	return &Metrics{loops: loops, listeners: map[string]*Listener{}, routes: map[routeKey]*Route{}}
}

// Listener returns the counters of the listener called name.
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

// NewListener returns a Listener whose counters are zero. Snapshot omits it until it is passed to Keep.
func (b *Metrics) NewListener(name string) *Listener {
	return &Listener{Name: name, perLoop: make([]listenerCounters, b.loops)}
}

// Route returns the counters of the route called name. listener is the name of its listener.
func (b *Metrics) Route(listener, name string) *Route {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := routeKey{listener, name}
	r := b.routes[at]
	if r == nil {
		r = &Route{Listener: listener, Name: name, perLoop: make([]lockedTally, b.loops)}
		b.routes[at] = r
		b.added = append(b.added, r)
	}
	return r
}

// Keep removes all counters except those of listeners and routes. It is called after a reload. Requests that began
// before may still use removed counters, but Snapshot does not include them. If a removed name is used again, its
// counters start at zero. The slice of routes must not be changed afterwards.
func (b *Metrics) Keep(listeners []*Listener, routes []*Route) {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.listeners)
	for _, l := range listeners {
		b.listeners[l.Name] = l
	}
	last, gone := b.kept, map[*Route]bool{}
	for i, r := range last {
		if i >= len(routes) || routes[i] != r {
			gone[r] = true
		}
		if i%batch == 0 {
			pace.Step()
		}
	}
	for _, r := range b.added {
		gone[r] = true
	}
	for i, r := range routes {
		if len(gone) > 0 {
			delete(gone, r)
		}
		if i >= len(last) || last[i] != r {
			b.routes[routeKey{r.Listener, r.Name}] = r
		}
		if i%batch == 0 {
			pace.Step()
		}
	}
	for r := range gone {
		if at := (routeKey{r.Listener, r.Name}); b.routes[at] == r {
			delete(b.routes, at)
		}
		pace.Step()
	}
	b.kept, b.added = routes, nil
}

// batch is how many routes are compared between looks at the clock.
const batch = 64

// Snapshot is a copy of all counters at one moment.
type Snapshot struct {
	Listeners []ListenerStats // sorted by name
	Routes    []RouteStats    // sorted by listener and name
}

// Snapshot adds up the counters of all loops. The totals of a name never decrease until Keep removes the name.
func (b *Metrics) Snapshot() Snapshot {
	b.mu.Lock()
	listeners, routes := slices.Collect(maps.Values(b.listeners)), slices.Collect(maps.Values(b.routes))
	b.mu.Unlock()
	slices.SortFunc(listeners, func(x, y *Listener) int { return cmp.Compare(x.Name, y.Name) })
	slices.SortFunc(routes, func(x, y *Route) int {
		return cmp.Or(cmp.Compare(x.Listener, y.Listener), cmp.Compare(x.Name, y.Name))
	})
	var s Snapshot
	for _, l := range listeners {
		s.Listeners = append(s.Listeners, l.stats())
	}
	for _, r := range routes {
		s.Routes = append(s.Routes, r.stats())
	}
	return s
}
