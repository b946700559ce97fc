package broker

import "example.com/ferry/broker/internal/routes"

// route lists the targets for the messages of one tag. Apart from the turns of its groups, a route never changes. A SUB
// or UNSUB that changes it discards the route, and the next publisher builds a new one.
type route struct {
	age        uint64              // Broker.routeAge when it was built
	predicates []*routes.Predicate // all predicates of the targets, each once
	ungrouped  []target            // targets without a group: each receives every message
	groups     []*group            // one member of each group receives a message
	indexes    []*ruleIndex        // further targets, of filters with many subscriptions
	forwards   []forwardTarget
}

// target is a delivery queue and the predicate for its messages.
type target struct {
	queue     *deliveryQueue
	predicate int // index in the route's predicates; -1 matches every message
}

func (r *route) empty() bool { return len(r.ungrouped)+len(r.groups)+len(r.indexes) == 0 }

// routeOf returns the route of t. If subscriptions have changed, it builds a new route.
func (b *Broker) routeOf(t *tag) *route {
	if r := t.route.Load(); r != nil && r.age == b.routeAge.Load() {
		return r
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := t.route.Load(); r != nil && r.age == b.routeAge.Load() {
		return r
	}
	r := &route{age: b.routeAge.Load(), forwards: b.forwardTargets(t.Name)}
	groups, indexes := map[string]*group{}, map[*routes.Predicate]int{nil: -1}
	b.filters.MatchingFilters(t.Name, func(in *interest) {
		if in.rules != nil {
			r.indexes = append(r.indexes, in.rules)
			return
		}
		for _, sub := range in.subs {
			r.add(sub, t, groups, indexes)
		}
	})
	t.route.Store(r)
	return r
}

// add adds a subscription as a target for the messages of t. groups and indexes are of the groups and predicates that r has.
func (r *route) add(sub *subscription, t *tag, groups map[string]*group, indexes map[*routes.Predicate]int) {
	sub.session.mu.Lock()
	q := sub.queueOf(t)
	sub.session.mu.Unlock()
	i, known := indexes[sub.predicate]
	if !known {
		i = len(r.predicates)
		r.predicates = append(r.predicates, sub.predicate)
		indexes[sub.predicate] = i
	}
	if sub.group == "" {
		r.ungrouped = append(r.ungrouped, target{q, i})
		return
	}
	g := groups[sub.group]
	if g == nil {
		g = &group{turn: sub.turn}
		groups[sub.group] = g
		r.groups = append(r.groups, g)
	}
	g.members = append(g.members, target{q, i})
	g.subs = append(g.subs, sub)
}
