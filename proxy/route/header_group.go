package route

import (
	"cmp"
	"slices"
	"strings"
)

// headerGroup has routes of one list of candidates that each require a value of the same header field. Only the routes of
// the values that a request has are candidates.
type headerGroup struct {
	name   string
	routes map[string][]uint32 // key is the value; ascending indices of virtualHost.routes
}

// headerGroups makes groups of the routes of a list that have a condition on the whole value of a header field, and returns the other
// routes. A route with several such conditions is in the group with the most values. least is the number of values of the smallest group.
func headerGroups(routes []*Route, list []uint32, least int) (groups []*headerGroup, others []uint32) {
	values := map[string]map[string]bool{} // by name
	for _, n := range list {
		for _, h := range routes[n].conditions.headers {
			if h.Value == "" {
				continue
			}
			if values[h.Name] == nil {
				values[h.Name] = map[string]bool{}
			}
			values[h.Name][h.Value] = true
		}
	}
	var names []string
	for name, of := range values {
		if len(of) >= least {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, list
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(values[b])-len(values[a]), strings.Compare(a, b)) })
	names = names[:min(len(names), maxGroups)]
	for _, name := range names {
		groups = append(groups, &headerGroup{name, map[string][]uint32{}})
	}
	for _, n := range list {
		if g, value := headerGroupOf(&routes[n].conditions, groups); g != nil {
			g.routes[value] = append(g.routes[value], n)
		} else {
			others = append(others, n)
		}
	}
	return slices.DeleteFunc(groups, func(g *headerGroup) bool { return len(g.routes) == 0 }), others
}

// headerGroupOf returns the first group that has a place for a route, and the value that the route requires.
func headerGroupOf(c *conditions, groups []*headerGroup) (of *headerGroup, value string) {
	for _, g := range groups {
		for _, h := range c.headers {
			if h.Value != "" && h.Name == g.name {
				return g, h.Value
			}
		}
	}
	return nil, ""
}
