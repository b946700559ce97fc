package route

import (
	"slices"
	"strings"
)

// index skips routes of a virtual host that cannot match a request. Its lists are indices of virtualHost.routes in ascending
// order. The candidates for a request are the routes of one list, found by path or service, and those of unindexed.
type index struct {
	literals  []literal           // ordered by text
	services  map[string][]uint32 // by Bolt service
	unindexed []uint32            // routes that have neither a literal path nor a service
}

// literal is a path or prefix in the conditions of some routes.
type literal struct {
	text   string
	parent int      // the longest other literal that is a prefix of text; -1 if there is none
	routes []uint32 // of this literal and all its ancestors
}

func newIndex(routes []*Route) index {
	x := index{services: map[string][]uint32{}}
	byText := map[string][]uint32{}
	for i, r := range routes {
		n, c := uint32(i), &r.conditions
		switch {
		case c.path.hasLiteralPrefix():
			byText[c.path.text] = append(byText[c.path.text], n)
		case c.bolt.Service != "":
			x.services[c.bolt.Service] = append(x.services[c.bolt.Service], n)
		default:
			x.unindexed = append(x.unindexed, n)
		}
	}
	for text, list := range byText {
		x.literals = append(x.literals, literal{text, -1, list})
	}
	slices.SortFunc(x.literals, func(a, b literal) int { return strings.Compare(a.text, b.text) })
	for i := range x.literals {
		l := &x.literals[i]
		for l.parent = i - 1; l.parent >= 0 && !strings.HasPrefix(l.text, x.literals[l.parent].text); {
			l.parent = x.literals[l.parent].parent
		}
		if l.parent >= 0 {
			l.routes = append(l.routes, x.literals[l.parent].routes...)
			slices.Sort(l.routes)
		}
	}
	return x
}

// candidates returns the indexed routes that may match r.
func (x *index) candidates(r *Request) []uint32 {
	if r.Bolt.Service != nil {
		return x.services[string(r.Bolt.Service)]
	}
	low, high := 0, len(x.literals) // literals[:low] are not above the path, literals[high:] are
	for low < high {
		middle := int(uint(low+high) >> 1)
		if x.literals[middle].text <= string(r.Path) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	// Each literal that is a prefix of the path is an ancestor of the last literal that is not above the path, or is that literal.
	for at := low - 1; at >= 0; at = x.literals[at].parent {
		if l := &x.literals[at]; len(l.text) <= len(r.Path) && l.text == string(r.Path[:len(l.text)]) {
			return l.routes
		}
	}
	return nil
}
