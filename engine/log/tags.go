package log

import (
	"slices"
	"strings"
)

// tag is a tag with records in a Log.
type tag struct {
	name    string
	records uint64 // that are left
	waiting int    // that were appended and are not in the index yet
}

// counts says how many records of each tag a segment has left.
type counts struct {
	open   map[*tag]uint32 // of a segment that takes records
	sealed []tagCount      // of a sealed one, sorted by name
}

type tagCount struct {
	tag *tag
	n   uint32
}

func (c *counts) add(t *tag, n uint32) {
	if c.open == nil {
		c.open = map[*tag]uint32{}
	}
	c.open[t] += n
}

func (c *counts) remove(t *tag) {
	if c.open != nil {
		if c.open[t]--; c.open[t] == 0 {
			delete(c.open, t)
		}
		return
	}
	if i, found := slices.BinarySearchFunc(c.sealed, t.name, func(a tagCount, name string) int { return strings.Compare(a.tag.name, name) }); found {
		c.sealed[i].n--
	}
}

// seal ends the additions: the counts take less memory then.
func (c *counts) seal() {
	for t, n := range c.open {
		c.sealed = append(c.sealed, tagCount{t, n})
	}
	c.open = nil
	slices.SortFunc(c.sealed, func(a, b tagCount) int { return strings.Compare(a.tag.name, b.tag.name) })
	c.sealed = slices.Clip(c.sealed)
}

// each calls visit for each tag that has records left, until it returns false.
func (c *counts) each(visit func(t *tag, n uint32) bool) {
	for t, n := range c.open {
		if !visit(t, n) {
			return
		}
	}
	for _, e := range c.sealed {
		if e.n > 0 && !visit(e.tag, e.n) {
			return
		}
	}
}
