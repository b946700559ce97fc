package y3

import (
	"errors"
	"math/bits"

	"example.com/ferry/field"
)

// Find looks up all paths of s in one pass. The pass ends when all are found.
func (f Format) Find(data []byte, s *field.Set, spans []field.Span) error {
	return find(f.Dialect, data, s, spans[:s.Len()]) // an interface call is two calls, as in Lookup
}

func find(d Dialect, data []byte, set *field.Set, spans []field.Span) error {
	node, at := &set.Nodes()[0], field.Span{End: len(data), Kind: field.Map}
	if node.Leaf < 0 && node.Count == 1 { // in most messages all fields are in one node, which lookup finds
		var err error
		if at, err = lookup(d, data, set.Paths()[0].Steps()[:1]); err != nil {
			clear(spans)
			if errors.Is(err, field.ErrNotFound) {
				return nil
			}
			return err
		}
		node = &set.Nodes()[node.First]
	}
	pos, want := at.Off, node.Filter.Keys
	if at.Kind == field.Map {
		pos, want = searchLeaves(data[:at.End], set, node, pos, spans)
		if want == 0 && pos > at.Off && node.Count == len(spans) { // each path is a child, and found
			return nil
		}
	}
	s := setSearch{data, set, spans, d}
	return s.searchRest(node, at, pos, want)
}

// searchLeaves is the fast path of searchKeys for data[pos:], the packets of a node. It stores the spans of those that
// are primitive, have lengths of one byte, and end a path. It calls nothing in its loop, so its state fits in registers.
// At any other packet with the key of a child of node it returns: searchKeys continues at this offset, and searches the
// keys that are still to be found.
func searchLeaves(data []byte, set *field.Set, node *field.Node, pos int, spans []field.Span) (int, uint64) {
	want, next := node.Filter.Keys, node.First
	nodes := set.Nodes()[:next+node.Count]
	if len(data) < 2 || bits.OnesCount64(want) != node.Count { // some children have the same key, or none
		return pos, want
	}
	lengths := data[1:]
	tags := data[:len(lengths)] // as long as lengths, so that one bounds check covers both
	for want != 0 {
		var n, off int
		for {
			if uint(pos) >= uint(len(tags)) {
				return pos, want
			}
			n, off = int(lengths[pos]), pos+2
			if want>>(tags[pos]&keyMask)&1 != 0 {
				break
			}
			if n >= 0x40 {
				if n = readTwoByteLength(lengths, pos, n); n == 0 {
					return pos, want
				}
				off++
			}
			pos = off + n
		}
		tag, end := tags[pos], off+n
		if n >= 0x40 || end > len(lengths)+1 || tag&nodeFlag != 0 {
			break
		}
		if uint(next) >= uint(len(nodes)) || nodes[next].Step.Key != int(tag&keyMask) { // the message has another order than the set
			for next = node.First; nodes[next].Step.Key != int(tag&keyMask); {
				next++
			}
		}
		leaf := nodes[next].Leaf
		if leaf < 0 {
			break
		}
		spans[leaf] = field.Span{Head: pos, Off: off, End: end, Kind: field.Untyped}
		want &^= 1 << (tag & keyMask)
		pos = end
		next++
	}
	return pos, want
}

// setSearch is one pass over a message for all paths of a set.
type setSearch struct {
	data    []byte
	set     *field.Set
	spans   []field.Span
	dialect Dialect
}

// children returns the children of node. They are consecutive in the nodes of the set.
func (s *setSearch) children(node *field.Node) []field.Node {
	return s.set.Nodes()[node.First:][:node.Count]
}

// searchRest continues after searchLeaves. The span of node is at, and want has the keys of its children that have not
// been found before pos.
func (s *setSearch) searchRest(node *field.Node, at field.Span, pos int, want uint64) error {
	var found uint64 // a bit for each path
	for _, c := range s.children(node) {
		if c.Leaf >= 0 && c.Step.Key >= 0 && want>>(c.Step.Key&keyMask)&1 == 0 {
			found |= 1 << c.Leaf
		}
	}
	for i := range s.spans {
		if found>>i&1 == 0 {
			s.spans[i] = field.Span{}
		}
	}
	if at.Kind != field.Map {
		return s.storeHit(node, at)
	}
	if node.Leaf >= 0 {
		s.spans[node.Leaf] = at
	}
	return s.searchKeys(node, pos, at.End, want)
}

// searchKeys searches the packets of data[pos:end] for the children of parent. want has a bit for each key that is
// still to be found. Of several packets with one key, the first counts.
func (s *setSearch) searchKeys(parent *field.Node, pos, end int, want uint64) error {
	children := s.children(parent)
	for want != 0 {
		head, err := scanPackets(s.data, pos, end, want)
		if err != nil || head == end {
			return err
		}
		p, err := Next(s.data, head, end)
		if err != nil {
			return err
		}
		want &^= 1 << p.Key()
		for i := range children {
			if children[i].Step.Key != p.Key() {
				continue
			}
			if err := s.storeHit(&children[i], s.dialect.span(s.data, p)); err != nil {
				return err
			}
		}
		pos = p.End
	}
	return nil
}

// searchItems searches a slice for the children of parent. Their steps are indices.
func (s *setSearch) searchItems(parent *field.Node, pos, end int) error {
	children := s.children(parent)
	last := -1
	for i := range children {
		last = max(last, children[i].Step.Index)
	}
	for index := 0; index <= last && pos < end; {
		p, err := Next(s.data, pos, end)
		if err != nil {
			return err
		}
		if p.Key() == 0 {
			for i := range children {
				if children[i].Step.Index == index {
					if err := s.storeHit(&children[i], s.dialect.span(s.data, p)); err != nil {
						return err
					}
				}
			}
			index++
		}
		pos = p.End
	}
	return nil
}

// storeHit stores span as that of node. It then searches the span for the children of node.
func (s *setSearch) storeHit(node *field.Node, span field.Span) error {
	if node.Leaf >= 0 {
		s.spans[node.Leaf] = span
	}
	switch {
	case node.Count == 0:
		return nil
	case span.Kind == field.Map:
		pos, want := searchLeaves(s.data[:span.End], s.set, node, span.Off, s.spans)
		return s.searchKeys(node, pos, span.End, want)
	case span.Kind == field.List:
		return s.searchItems(node, span.Off, span.End)
	}
	return nil
}
