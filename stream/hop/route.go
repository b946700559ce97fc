package hop

import (
	"slices"

	"example.com/ferry/internal/topic"
)

// route lists the targets for the messages of one tag. Apart from the turns of its groups, a route never changes. A SUB
// or UNSUB that matches the tag discards the route, and the next publisher builds a new one.
type route struct {
	predicates []*predicate // all predicates of the targets, each once
	ungrouped  []target     // targets without a group: each receives every message
	groups     []*group     // one member of each group receives a message
	forwards   []forwardTarget
}

// target is a delivery queue and the predicate for its messages.
type target struct {
	queue     *deliveryQueue
	predicate int // index in the route's predicates; -1 matches every message
}

// routeOf returns the route of t. If subscriptions have changed, it builds a new route.
func (b *Broker) routeOf(t *tag) *route {
	if r := t.route.Load(); r != nil {
		return r
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := t.route.Load(); r != nil {
		return r
	}
	r := &route{forwards: b.forwardTargets(t.name)}
	groups := map[string]*group{}
	for _, sub := range b.subs {
		if sub.addressed || !topic.Match(sub.filter, t.name) {
			continue
		}
		sub.session.mu.Lock()
		to := target{sub.queueOf(t), r.indexOf(sub.predicate)}
		sub.session.mu.Unlock()
		if sub.group == "" {
			r.ungrouped = append(r.ungrouped, to)
			continue
		}
		g := groups[sub.group]
		if g == nil {
			g = &group{name: sub.group}
			groups[sub.group] = g
			r.groups = append(r.groups, g)
		}
		g.members = append(g.members, to)
	}
	t.route.Store(r)
	return r
}

func (r *route) indexOf(p *predicate) int {
	if p == nil {
		return -1
	}
	i := slices.Index(r.predicates, p)
	if i < 0 {
		i = len(r.predicates)
		r.predicates = append(r.predicates, p)
	}
	return i
}

// invalidateRoutes discards the routes of all tags that sub matches. The caller holds the lock.
func (b *Broker) invalidateRoutes(sub *subscription) {
	for _, t := range b.tags.all {
		if topic.Match(sub.filter, t.name) {
			t.route.Store(nil)
		}
	}
}
