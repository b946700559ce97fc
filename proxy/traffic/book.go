package traffic

import "sync"

// Book is the counters of a proxy. Its methods may be called by any goroutine.
type Book struct {
	loops int

	mu        sync.Mutex
	listeners map[string]*Listener
	routes    map[routeKey]*Route
}

type routeKey struct{ listener, name string }

// NewBook makes a Book for so many loops.
func NewBook(loops int) *Book {
	return &Book{loops: loops, listeners: map[string]*Listener{}, routes: map[routeKey]*Route{}}
}

// Listener returns the counters of the listener of that name.
func (b *Book) Listener(name string) *Listener {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.listeners[name]
	if l == nil {
		l = b.NewListener(name)
		b.listeners[name] = l
	}
	return l
}

// NewListener returns counters at zero that the book does not show before Keep is given them.
func (b *Book) NewListener(name string) *Listener {
	return &Listener{Name: name, shares: make([]listenerShare, b.loops)}
}

// Route returns the counters of the route of that name of a listener.
func (b *Book) Route(listener, name string) *Route {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := routeKey{listener, name}
	r := b.routes[at]
	if r == nil {
		r = &Route{Listener: listener, Name: name, shares: make([]routeShare, b.loops)}
		b.routes[at] = r
	}
	return r
}

// Keep forgets all counters but those of the given listeners and routes, as after a reload that removed the others. Whoever
// still holds one that is forgotten can go on counting with it: nobody sees that any more. If its name comes back, it begins
// at zero.
func (b *Book) Keep(listeners []*Listener, routes []*Route) {
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
