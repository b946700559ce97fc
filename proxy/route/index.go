package route

import (
	"slices"
	"strings"
)

// index passes over routes of a virtual host that a request cannot match. Its lists hold places in virtualHost.routes, in
// order: the candidates for a request are one list by its path or service, and rest.
type index struct {
	literals []literal           // ordered by text
	services map[string][]uint32 // by Bolt service
	rest     []uint32            // routes of neither
}

// literal is a text that paths of some routes begin with.
type literal struct {
	text   string
	parent int      // the longest other literal that text begins with; -1 if there is none
	routes []uint32 // of this literal, its parent, that one's parent, and so on
}

func newIndex(routes []*Route) index {
	x := index{services: map[string][]uint32{}}
	byText := map[string][]uint32{}
	for i, r := range routes {
		n, c := uint32(i), &r.conditions
		switch {
		case c.path.literal():
			byText[c.path.text] = append(byText[c.path.text], n)
		case c.bolt.Service != "":
			x.services[c.bolt.Service] = append(x.services[c.bolt.Service], n)
		default:
			x.rest = append(x.rest, n)
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

// candidates returns the list of the request's path or service.
func (x *index) candidates(r *Request) []uint32 {
	if r.Bolt.Service != nil {
		return x.services[string(r.Bolt.Service)]
	}
	low, high := 0, len(x.literals) // literals before low are not after the path in order, from high on they are
	for low < high {
		middle := int(uint(low+high) >> 1)
		if x.literals[middle].text <= string(r.Path) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	// All literals that the path begins with are literals that the last one before it in order begins with, or are that one.
	for at := low - 1; at >= 0; at = x.literals[at].parent {
		if l := &x.literals[at]; len(l.text) <= len(r.Path) && l.text == string(r.Path[:len(l.text)]) {
			return l.routes
		}
	}
	return nil
}
