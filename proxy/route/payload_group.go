package route

import (
	"fmt"
	"slices"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// payloadGroup has routes of one list of candidates whose payload conditions use the same fields. Once the values of these fields
// are known, a field.Index finds the routes whose conditions can hold, so a request costs the same whatever the number of routes.
type payloadGroup struct {
	routes   []uint32 // indices of virtualHost.routes, ascending; the predicate of routes[i] has the id i
	index    *field.Index
	searches []int // indices in Table.searches: the fields
	places   []int // for each place of the index, its index in Table.searches
}

const (
	minGroup  = 16 // routes; fewer are evaluated one by one
	maxGroups = 8  // of one list: each costs time for every request
	headStart = 3  // routes of a group that are tried before the index is: often one of the first matches
)

// payloadGroups makes groups of the routes of a list that have payload conditions, and returns the other routes. least is the number of
// routes of the smallest group.
func (t *Table) payloadGroups(routes []*Route, list []uint32, least int) (groups []*payloadGroup, others []uint32) {
	byFields := map[string][]uint32{}
	for _, n := range list {
		if p := routes[n].conditions.payload; p != nil {
			byFields[p.fields()] = append(byFields[p.fields()], n)
		}
	}
	var large [][]uint32
	for _, group := range byFields {
		if len(group) >= least {
			large = append(large, group)
		}
	}
	slices.SortFunc(large, func(a, b []uint32) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return int(a[0]) - int(b[0])
	})
	if len(large) == 0 {
		return nil, list
	}
	grouped := map[uint32]bool{}
	for _, group := range large[:min(len(large), maxGroups)] {
		groups = append(groups, t.newGroup(routes, group))
		for _, n := range group {
			grouped[n] = true
		}
	}
	return groups, slices.DeleteFunc(slices.Clone(list), func(n uint32) bool { return grouped[n] })
}

// fields returns which fields of which format the condition uses, as text.
func (p *payloadCondition) fields() string {
	sorted := slices.Sorted(slices.Values(p.searches))
	var b strings.Builder
	for _, i := range slices.Compact(sorted) {
		fmt.Fprint(&b, i, " ")
	}
	return b.String()
}

func (t *Table) newGroup(routes []*Route, list []uint32) *payloadGroup {
	g := &payloadGroup{routes: list, index: field.NewIndex()}
	searches := map[string]int{}
	for _, n := range list {
		p := routes[n].conditions.payload
		g.index.Add(p.predicate)
		for i, path := range p.predicate.Set().Paths() {
			searches[path.String()] = p.searches[i]
		}
	}
	for _, i := range searches {
		g.searches = append(g.searches, i)
	}
	slices.Sort(g.searches)
	for i, set := range g.index.Sets(nil) {
		g.places = append(g.places, make([]int, (i+1)*field.MaxSet-len(g.places))...)
		for j, path := range set.Paths() {
			g.places[i*field.MaxSet+j] = searches[path.String()]
		}
	}
	return g
}

// runningGroup is the state of a group for the current request.
type runningGroup struct {
	group   *payloadGroup
	tried   int   // the first routes of the group, which do not match
	settled bool  // the index was used: only found may match
	exact   bool  // the payload conditions of found hold: all fields were known
	found   []int // positions in group.routes
	at      int   // index in found: those before it do not match, and it is the least of the others
	sorted  bool
}

// next returns the first route of the group that may match.
func (g *runningGroup) next() (route uint32, ok bool) {
	switch {
	case !g.settled && g.tried < len(g.group.routes):
		return g.group.routes[g.tried], true
	case g.settled && g.at < len(g.found):
		return g.group.routes[g.found[g.at]], true
	}
	return 0, false
}

// skip notes that the route that next returns does not match.
func (g *runningGroup) skip() {
	if !g.settled {
		g.tried++
		return
	}
	if !g.sorted {
		slices.Sort(g.found)
		g.sorted = true
	}
	g.at++
}

// settle finds the routes of g that may match, if the values of all fields are known, or never will be. A field that is never known
// counts as absent here: a condition that holds whatever its value is holds then, too. Continue evaluates the conditions of the routes
// that are found, on the payload only if a field is not known.
func (m *Matcher) settle(g *runningGroup, data []byte, whole bool) bool {
	data, whole, last := clip(data, whole)
	m.searching = true
	g.exact = true
	for _, i := range g.group.searches {
		s := &m.searches[i]
		s.advance(data, whole)
		known := s.result != format.More && !s.failed
		if !known && !last && !s.failed {
			return false
		}
		g.exact = g.exact && known
	}
	m.fields = groupFields{m, g.group}
	g.found, _, _ = m.evaluation.Match(g.group.index, &m.fields, nil, g.found[:0])
	g.found = slices.DeleteFunc(g.found, func(id int) bool { return id < g.tried })
	for i, id := range g.found { // often the first one matches: sorting them is not worth it
		if id < g.found[0] {
			g.found[0], g.found[i] = id, g.found[0]
		}
	}
	g.settled, g.sorted, g.at = true, false, 0
	return true
}

// groupFields are the fields of a payload for the index of a group.
type groupFields struct {
	m *Matcher
	g *payloadGroup
}

func (f *groupFields) search(place int) *runningSearch { return &f.m.searches[f.g.places[place]] }

// Found implements field.Fields.
func (f *groupFields) Found(place int) bool {
	s := f.search(place)
	return !s.failed && s.result == format.Found
}

// Read implements field.Fields.
func (f *groupFields) Read(place int, as field.Type, v *field.Value) bool {
	if !f.Found(place) {
		return false
	}
	var err error
	*v, err = f.search(place).Value(as)
	return err == nil
}
