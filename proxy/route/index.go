package route

import (
	"maps"
	"slices"
	"strings"

	"example.com/ferry/internal/pace"
)

// index skips routes of a virtual host that cannot match a request. The index has lists of indices of
// virtualHost.routes, in ascending order. The candidates for a request are the routes in one of these lists and the
// routes in unindexed. The list is found by the path or the Bolt service of the request. Within a list, routes with values of the same
// header field and routes with conditions on the same payload fields are in groups.
type index struct {
	texts     []string               // of literals, sorted; their bytes are next to each other, so that a search reads few cache lines
	literals  []literal              // in the order of texts
	services  map[string]*candidates // key is the Bolt service
	unindexed candidates             // routes without a literal path and without a service
}

// literal is a path or prefix that occurs in the conditions of routes.
type literal struct {
	parent int        // index of the longest other literal that is a prefix of this one; -1 if there is none
	routes candidates // routes of this literal and of all its ancestors
}

// newIndex returns an index. Groups have at least that many routes.
func (t *Table) newIndex(routes []*Route, least int) index {
	x := index{services: map[string]*candidates{}}
	byText, byService, unindexed := map[string][]uint32{}, map[string][]uint32{}, []uint32(nil)
	for i, r := range routes {
		n, c := uint32(i), &r.conditions
		switch {
		case c.path.hasLiteralPrefix():
			byText[c.path.text] = append(byText[c.path.text], n)
		case c.bolt.Service != "":
			byService[c.bolt.Service] = append(byService[c.bolt.Service], n)
		default:
			unindexed = append(unindexed, n)
		}
	}
	x.unindexed = t.candidates(routes, unindexed, least)
	for service, list := range byService {
		c := t.candidates(routes, list, least)
		x.services[service] = &c
	}
	x.texts = adjacent(slices.Sorted(maps.Keys(byText)))
	x.literals = make([]literal, len(x.texts))
	for i, text := range x.texts {
		l := &x.literals[i]
		l.routes = t.candidates(routes, byText[text], least)
		for l.parent = i - 1; l.parent >= 0 && !strings.HasPrefix(text, x.texts[l.parent]); {
			l.parent = x.literals[l.parent].parent
		}
		if l.parent >= 0 {
			l.routes = l.routes.add(x.literals[l.parent].routes)
		}
		pace.Step()
	}
	return x
}

// adjacent returns copies of texts whose bytes are next to each other.
func adjacent(texts []string) []string {
	all := strings.Join(texts, "")
	copies := make([]string, len(texts))
	for i, text := range texts {
		copies[i], all = all[:len(text)], all[len(text):]
	}
	return copies
}

// candidates returns the indexed routes that may match r with that reading of its path, or nil.
func (x *index) candidates(r *Request, path []byte) *candidates {
	if r.Bolt.Service != nil {
		return x.services[string(r.Bolt.Service)]
	}
	low, high := 0, len(x.texts) // texts[:low] are at most the path, texts[high:] are greater
	for low < high {
		middle := int(uint(low+high) >> 1)
		if x.texts[middle] <= string(path) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	// Take the last literal whose text is at most the path. Each literal that is a prefix of the path is this literal
	// or one of its ancestors.
	for at := low - 1; at >= 0; at = x.literals[at].parent {
		if text := x.texts[at]; len(text) <= len(path) && text == string(path[:len(text)]) {
			return &x.literals[at].routes
		}
	}
	return nil
}
