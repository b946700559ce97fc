package traffic

import (
	"cmp"
	"maps"
	"slices"
)

// Snapshot is what a Book has counted since it was made.
type Snapshot struct {
	Listeners []ListenerStats // by name
	Routes    []RouteStats    // by listener and name
}

// Snapshot adds up what the loops have counted. Totals never go down from one to the next, as long as Keep keeps them.
func (b *Book) Snapshot() Snapshot {
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
