package route

import "slices"

// candidates are routes of a virtual host that may match a request.
type candidates struct {
	routes  []uint32 // evaluated one by one; ascending
	headers []*headerGroup
	groups  []*payloadGroup
}

// candidates divides the routes of a list into groups and the others. least is the number of routes of the smallest group.
func (t *Table) candidates(routes []*Route, list []uint32, least int) (c candidates) {
	c.groups, list = t.payloadGroups(routes, list, least)
	c.headers, c.routes = headerGroups(routes, list, least)
	return c
}

// add returns c with all of other.
func (c candidates) add(other candidates) candidates {
	all := candidates{slices.Concat(c.routes, other.routes), slices.Concat(c.headers, other.headers), slices.Concat(c.groups, other.groups)}
	slices.Sort(all.routes)
	return all
}
