package broker

import "slices"

// interest is the subscriptions with one filter. Few subscriptions are listed in the routes of the tags that match. Many are in a
// ruleIndex, which the routes share: a SUB or UNSUB then changes the ruleIndex, and no route.
type interest struct {
	filter string
	subs   []*subscription
	rules  *ruleIndex // nil if the routes list the subscriptions
}

const (
	maxListed   = 16 // most subscriptions of a filter that routes list; a SUB or UNSUB of them builds routes again
	maxOneByOne = 3  // most different predicates of them; each of them is evaluated for each message
)

// addInterest adds sub to the routes of the tags that match its filter. The caller holds the lock.
func (b *Broker) addInterest(sub *subscription) {
	in := b.interests[sub.filter]
	if in == nil {
		in = &interest{filter: sub.filter}
		b.interests[sub.filter] = in
		b.filters.Set(sub.filter, in)
	}
	sub.place = len(in.subs)
	in.subs = append(in.subs, sub)
	sub.turn = b.turns.acquire(sub.group)
	switch {
	case in.rules != nil:
		in.rules.add(sub)
		return
	case len(in.subs) > maxListed || in.predicates() > maxOneByOne:
		in.rules = newRuleIndex(b.formats)
		for _, s := range in.subs {
			in.rules.add(s)
		}
	}
	b.invalidateRoutes(in.filter)
}

// predicates returns the number of different predicates of at most maxListed subscriptions.
func (in *interest) predicates() (n int) {
	for i, sub := range in.subs {
		if sub.predicate != nil && !slices.ContainsFunc(in.subs[:i], func(s *subscription) bool { return s.predicate == sub.predicate }) {
			n++
		}
	}
	return n
}

// removeInterest removes sub from the routes. The caller holds the lock.
func (b *Broker) removeInterest(sub *subscription) {
	in := b.interests[sub.filter]
	last := len(in.subs) - 1
	in.subs[sub.place] = in.subs[last]
	in.subs[sub.place].place = sub.place
	in.subs[last] = nil
	in.subs = in.subs[:last]
	b.turns.release(sub.turn)
	if in.rules != nil {
		in.rules.remove(sub)
		if last > maxListed/2 || in.rules.index.Len() > maxOneByOne/2 {
			return
		}
		in.rules, in.subs = nil, slices.Clone(in.subs)
	}
	if last == 0 {
		delete(b.interests, in.filter)
		b.filters.Delete(in.filter)
	}
	b.invalidateRoutes(in.filter)
}

// maxInvalidated is the most nodes of tags at which invalidateRoutes looks, some tens of microseconds.
const maxInvalidated = 250

// invalidateRoutes discards the routes of all tags that filter matches: one by one, or, if they may be many, all routes. The caller holds
// the lock.
func (b *Broker) invalidateRoutes(filter string) {
	if !b.tags.levels.MatchingTags(filter, maxInvalidated, func(t *tag) { t.route.Store(nil) }) {
		b.routeAge.Add(1)
	}
}
