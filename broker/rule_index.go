package broker

import (
	"slices"
	"sync"

	"example.com/ferry"
	"example.com/ferry/broker/internal/routes"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/protocol/native"
)

// ruleIndex is the subscriptions with one filter, by predicate. It evaluates all predicates together. Publishers share it, and a SUB
// or UNSUB changes it in place.
type ruleIndex struct {
	formats *format.ByType
	scratch sync.Pool // of *ruleScratch; few publishers match at the same time, so the memory does not grow with their number

	mu          sync.RWMutex
	index       *field.Index
	rules       []*rule // by id in index
	byPredicate map[*routes.Predicate]*rule
	byGroup     map[ruleGroupKey]*ruleGroup
	always      rule // subscriptions without a predicate
}

type ruleGroupKey struct {
	rule *rule
	turn *groupTurn
}

// rule is the subscriptions with one predicate.
type rule struct {
	id        int
	ungrouped []*subscription
	groups    []*ruleGroup
}

// ruleGroup is the members of a group that have the same predicate. Members are appended in place and otherwise replaced, so a
// reader may keep the slice.
type ruleGroup struct {
	turn    *groupTurn
	place   int // index in rule.groups
	members []*subscription
}

// ruleScratch is the memory of one match.
type ruleScratch struct {
	matchers map[ferry.Type]*format.IndexMatcher
	ids      []int
	masks    []uint64 // by id; bit i is set if the predicate holds for frame i; zero between matches
	held     []int    // ids with a mask
}

func newRuleIndex(formats *format.ByType) *ruleIndex {
	return &ruleIndex{
		formats: formats, index: field.NewIndex(), byPredicate: map[*routes.Predicate]*rule{}, byGroup: map[ruleGroupKey]*ruleGroup{},
	}
}

// add adds sub.
func (ix *ruleIndex) add(sub *subscription) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	r := &ix.always
	if p := sub.predicate; p != nil {
		if r = ix.byPredicate[p]; r == nil {
			r = &rule{id: ix.index.Add(p.Predicate)}
			ix.byPredicate[p] = r
			if r.id == len(ix.rules) {
				ix.rules = append(ix.rules, nil)
			}
			ix.rules[r.id] = r
		}
	}
	if sub.group == "" {
		sub.rulePlace = len(r.ungrouped)
		r.ungrouped = append(r.ungrouped, sub)
		return
	}
	key := ruleGroupKey{r, sub.turn}
	g := ix.byGroup[key]
	if g == nil {
		g = &ruleGroup{turn: sub.turn, place: len(r.groups)}
		ix.byGroup[key] = g
		r.groups = append(r.groups, g)
	}
	g.members = append(g.members, sub)
}

// remove removes sub.
func (ix *ruleIndex) remove(sub *subscription) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	r := &ix.always
	if sub.predicate != nil {
		r = ix.byPredicate[sub.predicate]
	}
	if sub.group == "" {
		last := len(r.ungrouped) - 1
		r.ungrouped[sub.rulePlace] = r.ungrouped[last]
		r.ungrouped[sub.rulePlace].rulePlace = sub.rulePlace
		r.ungrouped[last] = nil
		r.ungrouped = r.ungrouped[:last]
	} else {
		ix.removeMember(r, sub)
	}
	if r != &ix.always && len(r.ungrouped)+len(r.groups) == 0 {
		ix.index.Remove(r.id)
		delete(ix.byPredicate, sub.predicate)
		ix.rules[r.id] = nil
	}
}

// removeMember removes a member of a group from r. It copies the list of members, because a publisher may use it.
func (ix *ruleIndex) removeMember(r *rule, sub *subscription) {
	key := ruleGroupKey{r, sub.turn}
	g := ix.byGroup[key]
	at := slices.Index(g.members, sub)
	if g.members = slices.Concat(g.members[:at], g.members[at+1:]); len(g.members) > 0 {
		return
	}
	delete(ix.byGroup, key)
	last := len(r.groups) - 1
	r.groups[g.place] = r.groups[last]
	r.groups[g.place].place = g.place
	r.groups[last] = nil
	r.groups = r.groups[:last]
}

// match adds to out the subscriptions whose predicates hold for the frames of run, which end at the offsets ends.
func (ix *ruleIndex) match(run []byte, ends []int, out *matches) {
	s, _ := ix.scratch.Get().(*ruleScratch)
	if s == nil {
		s = &ruleScratch{matchers: map[ferry.Type]*format.IndexMatcher{}}
	}
	defer ix.scratch.Put(s)
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	out.add(&ix.always, ^uint64(0)>>(maxRun-len(ends)))
	if ix.index.Len() == 0 {
		return
	}
	s.masks = resizeMasks(s.masks, len(ix.rules))
	start := 0
	for i, end := range ends {
		f := native.Frame(run[start:end])
		start = end
		m := s.matcher(ix, f.Type())
		if m == nil {
			out.mismatches += ix.index.Len()
			continue
		}
		var mismatches, malformed int
		s.ids, mismatches, malformed = m.Match(f.Payload(), s.ids[:0])
		out.mismatches += mismatches + malformed
		for _, id := range s.ids {
			if s.masks[id] == 0 {
				s.held = append(s.held, id)
			}
			s.masks[id] |= 1 << i
		}
	}
	for _, id := range s.held {
		out.add(ix.rules[id], s.masks[id])
		s.masks[id] = 0
	}
	s.held = s.held[:0]
}

// resizeMasks returns n masks, all zero. It gives memory back that is much too large.
func resizeMasks(masks []uint64, n int) []uint64 {
	if n > cap(masks) || cap(masks) > 4*n+maxRun {
		return make([]uint64, n, n+n/4)
	}
	return masks[:n]
}

// matcher returns the matcher for payloads of type t, or nil if no format reads them.
func (s *ruleScratch) matcher(ix *ruleIndex, t ferry.Type) *format.IndexMatcher {
	m := s.matchers[t]
	if m == nil && ix.formats[t] != nil {
		m = format.NewIndexMatcher(ix.formats[t], ix.index)
		s.matchers[t] = m
	}
	return m
}

// matches is the subscriptions that a run of frames is for, apart from those that its route lists.
type matches struct {
	ungrouped  []match
	grouped    []groupMatch
	mismatches int
}

// match is a subscription, and the frames that it receives: bit i stands for frame i of the run.
type match struct {
	sub  *subscription
	mask uint64
}

// groupMatch is members of a group, of which one receives each frame in mask.
type groupMatch struct {
	turn    *groupTurn
	members []*subscription
	mask    uint64
}

var matchesPool = sync.Pool{New: func() any { return new(matches) }}

// release returns m to matchesPool.
func (m *matches) release() {
	clear(m.ungrouped)
	clear(m.grouped)
	m.ungrouped, m.grouped, m.mismatches = m.ungrouped[:0], m.grouped[:0], 0
	matchesPool.Put(m)
}

func (m *matches) add(r *rule, mask uint64) {
	for _, sub := range r.ungrouped {
		m.ungrouped = append(m.ungrouped, match{sub, mask})
	}
	for _, g := range r.groups {
		m.grouped = append(m.grouped, groupMatch{g.turn, g.members, mask})
	}
}

// addListed adds the members of g, which a route lists. masks are the results of the route's predicates for n frames.
func (m *matches) addListed(g *group, masks []uint64, n int) {
	for i := range g.members {
		mask := ^uint64(0) >> (maxRun - n)
		if p := g.members[i].predicate; p >= 0 {
			mask &= masks[p]
		}
		if mask != 0 {
			m.grouped = append(m.grouped, groupMatch{g.turn, g.subs[i : i+1], mask})
		}
	}
}

// groups passes the members of each group together to deliver.
func (m *matches) groups(deliver func(members []groupMatch)) {
	slices.SortFunc(m.grouped, func(x, y groupMatch) int { return x.turn.number - y.turn.number })
	for rest := m.grouped; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].turn == rest[0].turn {
			n++
		}
		deliver(rest[:n])
		rest = rest[n:]
	}
}

// membersFor returns the number of members that may receive frame i, and a function that returns the queue of one of them, or nil
// if that member has left.
func membersFor(list []groupMatch, i int, t *tag) (n int, queue func(int) *deliveryQueue) {
	for _, m := range list {
		n += len(m.members) * int(m.mask>>i&1)
	}
	return n, func(k int) *deliveryQueue {
		for _, m := range list {
			switch {
			case m.mask>>i&1 == 0:
			case k < len(m.members):
				return m.members[k].queueFor(t)
			default:
				k -= len(m.members)
			}
		}
		return nil
	}
}

// groupMembers is the members of a group for the messages of one tag.
type groupMembers struct {
	broker   *Broker
	tag      *tag
	turn     *groupTurn
	matchers routes.Matchers
}

// takeOver passes f, queued by a leaving member, to the next member that has room and whose predicate is true. It reports whether
// there is such a member.
func (g *groupMembers) takeOver(f native.Frame) bool {
	rt := g.broker.routeOf(g.tag)
	m := matchesPool.Get().(*matches)
	defer m.release()
	for _, ix := range rt.indexes {
		ix.match(f, []int{len(f)}, m)
	}
	m.grouped = slices.DeleteFunc(m.grouped, func(of groupMatch) bool { return of.turn.name != g.turn.name })
	for _, listed := range rt.groups {
		if listed.turn.name != g.turn.name {
			continue
		}
		for i := range listed.members {
			admitted := listed.members[i].admits(func(predicate int) bool {
				ok, _ := g.matchers.Match(rt.predicates[predicate], f.Type(), f.Payload())
				return ok
			})
			if admitted {
				m.grouped = append(m.grouped, groupMatch{g.turn, listed.subs[i : i+1], 1})
			}
		}
	}
	n, queue := membersFor(m.grouped, 0, g.tag)
	return g.turn.takeOver(f, n, queue)
}
