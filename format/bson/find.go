package bson

import (
	"fmt"
	"math/bits"

	"example.com/ferry/field"
)

// Find is Lookup for all paths of s in one pass over data, which ends as soon as all are found. It allocates nothing.
func (Format) Find(data []byte, s *field.Set, spans []field.Span) error {
	if len(spans) < s.Len() {
		return fmt.Errorf("bson: room for %d spans where the set has %d paths", len(spans), s.Len())
	}
	clear(spans[:s.Len()])
	f := finder{data, s.Nodes(), spans}
	return f.value(message, &f.nodes[0])
}

// finder descends at most field.MaxSteps levels.
type finder struct {
	data  []byte
	nodes []field.Node
	spans []field.Span
}

// value finds what the set wants in the value at a place, where n stands. It returns at the last hit.
func (f *finder) value(at place, n *field.Node) error {
	if n.Leaf >= 0 {
		s, err := at.span(f.data)
		if err != nil {
			return err
		}
		f.spans[n.Leaf] = s
	}
	typ := at.typ(f.data)
	if n.Count == 0 || typ != typeDocument && typ != typeArray {
		return nil
	}
	c, err := open(f.data, at.value, at.limit)
	if err != nil {
		return err
	}
	children := f.nodes[n.First : n.First+n.Count]
	want := ^uint64(0) >> (64 - uint(n.Count)) // the children not met yet
	for pos, index := c.pos, 0; want != 0; index++ {
		more, err := c.more(f.data, pos)
		if err != nil || !more {
			return err
		}
		value, err := c.value(f.data, pos)
		if err != nil {
			return err
		}
		child := -1
		if typ == typeArray {
			child = numbered(children, want, index)
		} else if name := f.data[pos+1 : value-1]; n.Sieve.Sizes>>(uint(len(name))&63)&1 != 0 {
			child = named(children, want, name)
		}
		if child >= 0 {
			want &^= 1 << uint(child)
			if err := f.value(place{pos, value, c.end}, &children[child]); err != nil || want == 0 {
				return err
			}
		}
		if pos, err = skip(f.data, f.data[pos], value, c.end); err != nil {
			return err
		}
	}
	return nil
}

// named returns which of the wanted children has this name, or -1.
func named(children []field.Node, want uint64, name []byte) int {
	for ; want != 0; want &= want - 1 {
		i := bits.TrailingZeros64(want)
		if string(name) == children[i].Step.Name {
			return i
		}
	}
	return -1
}

// numbered returns which of the wanted children has this index, or -1.
func numbered(children []field.Node, want uint64, index int) int {
	for ; want != 0; want &= want - 1 {
		i := bits.TrailingZeros64(want)
		if index == children[i].Step.Index {
			return i
		}
	}
	return -1
}
