package msgpack

import (
	"fmt"
	"io"
	"math/bits"

	"example.com/ferry/field"
	"example.com/ferry/format/internal/childset"
)

// Find looks up all paths of s in one pass. The pass ends when all are found. Find allocates nothing.
func (Format) Find(data []byte, s *field.Set, spans []field.Span) error {
	if len(spans) < s.Len() {
		return fmt.Errorf("msgpack: room for %d spans where the set has %d paths", len(spans), s.Len())
	}
	clear(spans[:s.Len()])
	f := setSearch{data: data, nodes: s.Nodes(), spans: spans}
	_, err := f.searchItem(0, 0, true)
	return err
}

// setSearch is one pass over a message for all paths of a set. The recursion is at most field.MaxSteps deep.
type setSearch struct {
	data  []byte
	nodes []field.Node
	spans []field.Span
}

// searchItem searches the item at pos for the paths of node, and returns the item's end. If last is true, node has the
// only paths that are still to be found. The search then stops at its last hit, and the returned offset means nothing.
func (f *setSearch) searchItem(pos, node int, last bool) (int, error) {
	n := &f.nodes[node]
	if n.Leaf >= 0 {
		s, err := spanAt(f.data, pos)
		if err != nil {
			return 0, err
		}
		if f.spans[n.Leaf] = s; n.Count == 0 {
			return s.End, nil
		}
	}
	if n.Count == 0 {
		return skipItems(f.data, pos, 1) // only the empty set has a root without a leaf and without children
	}
	h, err := readHead(f.data, pos)
	switch {
	case err != nil:
		return 0, err
	case h.kind == field.Map:
		return f.searchMap(h, n, last)
	case h.kind == field.List:
		return f.searchArray(h, n, last)
	case last:
		return 0, nil
	}
	return skipItems(f.data, pos, 1)
}

func (f *setSearch) searchMap(h head, n *field.Node, last bool) (int, error) {
	data, pos := f.data, h.off
	children := f.nodes[n.First : n.First+n.Count]
	want := ^uint64(0) >> (64 - uint(n.Count)) // a bit for each child that is still to be found
	names := n.Filter.Names
	for left := h.n; left != 0; left-- {
		if pos, left = skipPairs(data, pos, left, names); left == 0 {
			break
		}
		if uint(pos) >= uint(len(data)) {
			return 0, io.ErrUnexpectedEOF
		}
		var child int
		var err error
		if size := data[pos] - byteFixStr; size < 32 {
			name := pos + 1
			if pos = name + int(size); pos > len(data) {
				return 0, io.ErrUnexpectedEOF
			}
			child = childset.Named(children, want, data[name:pos])
		} else {
			k, err := readKey(data, pos)
			if err != nil {
				return 0, err
			}
			pos, child = k.end, childWithKey(children, want, data, k)
		}
		if child < 0 {
			if pos, err = skipItems(data, pos, 1); err != nil {
				return 0, err
			}
			continue
		}
		want &^= 1 << uint(child)
		if c := &children[child]; c.Count == 0 {
			s, err := spanAt(data, pos)
			if err != nil {
				return 0, err
			}
			f.spans[c.Leaf], pos = s, s.End
		} else if pos, err = f.searchItem(pos, n.First+child, last && want == 0); err != nil {
			return 0, err
		}
		if want == 0 {
			if last {
				return 0, nil
			}
			names = 0
		}
	}
	if pos > len(data) {
		return 0, io.ErrUnexpectedEOF
	}
	return pos, nil
}

// childWithKey returns the index of the child in want that matches k, or -1.
func childWithKey(children []field.Node, want uint64, data []byte, k key) int {
	for ; want != 0; want &= want - 1 {
		i := bits.TrailingZeros64(want)
		if k.matches(data, &children[i].Step) {
			return i
		}
	}
	return -1
}

func (f *setSearch) searchArray(h head, n *field.Node, last bool) (int, error) {
	pos, at := h.off, uint64(0) // offset and index of the current item
	children := f.nodes[n.First : n.First+n.Count]
	want := ^uint64(0) >> (64 - uint(n.Count))
	for {
		child := childset.LowestIndex(children, want)
		if child < 0 || uint64(children[child].Step.Index) >= h.n {
			break
		}
		index := uint64(children[child].Step.Index)
		var err error
		if pos, err = skipItems(f.data, pos, int(index-at)); err != nil {
			return 0, err
		}
		want &^= 1 << uint(child)
		if pos, err = f.searchItem(pos, n.First+child, last && want == 0); err != nil {
			return 0, err
		}
		at = index + 1
	}
	if last {
		return 0, nil
	}
	if h.n-at > uint64(len(f.data)-pos) {
		return 0, io.ErrUnexpectedEOF
	}
	return skipItems(f.data, pos, int(h.n-at))
}
