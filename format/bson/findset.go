package bson

import (
	"errors"
	"fmt"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format/internal/childset"
)

// Find looks up all paths of s in one pass, which ends once all paths are found. It allocates nothing.
func (Format) Find(data []byte, s *field.Set, spans []field.Span) error {
	if len(spans) < s.Len() {
		return fmt.Errorf("bson: room for %d spans where the set has %d paths", len(spans), s.Len())
	}
	for i := range s.Len() {
		spans[i] = field.Span{}
	}
	var f setSearch // set field by field, because the compiler would build a composite literal in a temporary and copy it
	f.data, f.nodes, f.spans = data, s.Nodes(), spans
	return f.searchValue(wholeMessage, &f.nodes[0])
}

// setSearch is the search for all paths of a set. Its recursion is at most field.MaxSteps levels deep.
type setSearch struct {
	data  []byte
	nodes []field.Node
	spans []field.Span
}

// searchValue searches one value for the paths below node n. It returns once all of them are found.
func (f *setSearch) searchValue(at valuePlace, n *field.Node) error {
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
	c, err := openContainer(f.data, at.value, at.limit)
	if err != nil {
		return err
	}
	if typ == typeArray {
		return f.searchArray(c, n)
	}
	return f.searchDocument(c, n)
}

func (f *setSearch) searchDocument(c container, n *field.Node) error {
	children := f.nodes[n.First : n.First+n.Count]
	want := ^uint64(0) >> (64 - uint(n.Count)) // the children not found yet
	names := n.Filter.Names
	for next := c.pos; want != 0; {
		pos, value, _ := skipElements(f.data, next, c, math.MaxInt, names)
		if value == 0 {
			more, err := c.hasElement(f.data, pos)
			if err != nil || !more {
				return err
			}
			if value, err = c.valueOffset(f.data, pos); err != nil {
				return err
			}
		}
		if child := childset.Named(children, want, f.data[pos+1:value-1]); child >= 0 {
			want &^= 1 << uint(child)
			at, below := valuePlace{pos, value, c.end}, &children[child]
			names = n.NamesAfter(names, below)
			if below.Count == 0 {
				s, err := at.span(f.data)
				if err != nil {
					return err
				}
				f.spans[below.Leaf], next = s, endOf(s)
				continue
			}
			if err := f.searchValue(at, below); err != nil || want == 0 {
				return err
			}
		}
		var err error
		if next, err = skipValue(f.data, f.data[pos], value, c.end); err != nil {
			return err
		}
	}
	return nil
}

func (f *setSearch) searchArray(c container, n *field.Node) error {
	children := f.nodes[n.First : n.First+n.Count]
	want := ^uint64(0) >> (64 - uint(n.Count)) // the children not found yet
	for pos, index := c.pos, 0; ; index++ {
		child := childset.LowestIndex(children, want)
		if child < 0 {
			return nil
		}
		at, err := container{pos, c.end}.findItem(f.data, children[child].Step.Index-index)
		if err != nil {
			return ignoreNotFound(err)
		}
		index = children[child].Step.Index
		want &^= 1 << uint(child)
		if err := f.searchValue(at, &children[child]); err != nil || want == 0 {
			return err
		}
		if pos, err = skipValue(f.data, at.typ(f.data), at.value, c.end); err != nil {
			return err
		}
	}
}

// ignoreNotFound returns nil if err is field.ErrNotFound, and otherwise err.
func ignoreNotFound(err error) error {
	if errors.Is(err, field.ErrNotFound) {
		return nil
	}
	return err
}
