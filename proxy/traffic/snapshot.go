package traffic

import (
	"cmp"
	"maps"
	"slices"
)

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
