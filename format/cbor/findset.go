package cbor

import (
	"fmt"
	"io"
	"math/bits"

	"example.com/ferry/field"
	"example.com/ferry/format/internal/childset"
	"example.com/ferry/internal/cborhead"
)

// Find looks up all paths of s in one pass, which ends once all paths are found. It allocates nothing.
func (Format) Find(data []byte, s *field.Set, spans []field.Span) error {
	return find(data, s, spans) // Find is inlined, so a call through the interface costs only one call
}

func find(data []byte, s *field.Set, spans []field.Span) error {
	if len(spans) < s.Len() {
		return fmt.Errorf("cbor: room for %d spans where the set has %d paths", len(spans), s.Len())
	}
	for i := range s.Len() {
		spans[i] = field.Span{}
	}
	var f setSearch // set field by field, because the compiler would build a composite literal in a temporary and copy it
	f.data, f.nodes, f.spans = data, s.Nodes(), spans
	_, err := f.searchItem(0, 0, true)
	return err
}

// setSearch is the search for all paths of a set. Its recursion is at most field.MaxSteps levels deep.
type setSearch struct {
	data  []byte
	nodes []field.Node
	spans []field.Span
}

// searchItem searches the item at pos for the paths below node, and returns the offset after the item. last means that
// no path outside this item is left. In that case the search ends with the last path found, and the returned offset is
// meaningless. On the way to the last path this function loops instead of recursing.
func (f *setSearch) searchItem(pos, node int, last bool) (int, error) {
	for {
		n := &f.nodes[node]
		if n.Leaf >= 0 {
			s, err := spanAt(f.data, pos)
			if err != nil {
				return 0, err
			}
			f.spans[n.Leaf] = s
			if n.Count == 0 {
				return s.End, nil
			}
		}
		if n.Count == 0 {
			return skipItems(f.data, pos, 1, 0)
		}
		if uint(pos) >= uint(len(f.data)) {
			return 0, io.ErrUnexpectedEOF
		}
		at, err := pos, error(nil)
		h, ok := readShortHead(f.data, pos)
		if !ok {
			if h, at, err = skipTags(f.data, pos); err != nil {
				return 0, err
			}
		}
		switch {
		case h.Major == cborhead.Map:
			pos, node, err = f.searchMap(h, n, last)
		case h.Major == cborhead.Array:
			pos, node, err = f.searchArray(h, n, last)
		case last:
			return 0, nil
		default:
			return skipItems(f.data, at, 1, 0)
		}
		if err != nil || node == 0 {
			return pos, err
		}
	}
}

// searchMap is searchItem for a map. If only paths below one child are left, searchMap does not search this child but
// returns its offset and node.
func (f *setSearch) searchMap(h head, n *field.Node, last bool) (pos, node int, err error) {
	data, pos := f.data, h.Next
	children := f.nodes[n.First : n.First+n.Count]
	want := ^uint64(0) >> (64 - uint(n.Count)) // the children not found yet
	w := n.Filter
	for left := pairCount(h); left != 0; left-- {
		if pos, left = skipPairs(data, pos, left, w.Names, w.Indices); left == 0 {
			break
		}
		if uint(pos) >= uint(len(data)) {
			return 0, 0, io.ErrUnexpectedEOF
		}
		b := data[pos]
		if b == cborhead.Break && h.Info == cborhead.Indefinite {
			return pos + 1, 0, nil
		}
		var child int
		if size := b - cborhead.Text<<5; size < 24 {
			key := pos + 1
			if pos = key + int(size); pos > len(data) {
				return 0, 0, io.ErrUnexpectedEOF
			}
			child = childset.Named(children, want, data[key:pos])
		} else if n, size := readShortInteger(data, pos); size > 0 {
			pos, child = pos+size, childWithIndex(children, want, n)
		} else {
			k, err := readKey(data, pos)
			if err != nil {
				return 0, 0, err
			}
			pos = k.end
			child = childWithKey(children, want, data, k)
		}
		if child < 0 {
			if pos, err = skipItems(data, pos, 1, 0); err != nil {
				return 0, 0, err
			}
			continue
		}
		want &^= 1 << uint(child)
		if c := &children[child]; c.Count == 0 {
			s, err := spanAt(data, pos)
			if err != nil {
				return 0, 0, err
			}
			f.spans[c.Leaf], pos = s, s.End
		} else if last && want == 0 {
			return pos, n.First + child, nil
		} else if pos, err = f.searchItem(pos, n.First+child, false); err != nil {
			return 0, 0, err
		}
		if want == 0 {
			if last {
				return 0, 0, nil
			}
			w = field.KeyFilter{}
		}
	}
	if pos > len(data) {
		return 0, 0, io.ErrUnexpectedEOF
	}
	return pos, 0, nil
}

// childWithIndex returns the child with the index n from the set want, or -1.
func childWithIndex(children []field.Node, want uint64, n int) int {
	for ; want != 0; want &= want - 1 {
		i := bits.TrailingZeros64(want)
		if n == children[i].Step.Index {
			return i
		}
	}
	return -1
}

// childWithKey returns the child that matches the key k from the set want, or -1.
func childWithKey(children []field.Node, want uint64, data []byte, k key) int {
	for ; want != 0; want &= want - 1 {
		i := bits.TrailingZeros64(want)
		if k.matches(data, &children[i].Step) {
			return i
		}
	}
	return -1
}

// searchArray is searchMap for an array.
func (f *setSearch) searchArray(h head, n *field.Node, last bool) (pos, node int, err error) {
	data, pos := f.data, h.Next
	children := f.nodes[n.First : n.First+n.Count]
	want := ^uint64(0) >> (64 - uint(n.Count))
	at := 0 // index of the item at pos
	for ; want != 0; at++ {
		child := childset.LowestIndex(children, want)
		if child < 0 {
			break
		}
		index := children[child].Step.Index
		if h.Info != cborhead.Indefinite && uint64(index) >= h.Arg {
			break
		}
		if h.Info != cborhead.Indefinite && index > at {
			if pos, err = skipItems(data, pos, index-at, 0); err != nil {
				return 0, 0, err
			}
			at = index
		}
		for ; at < index; at++ {
			end, err := atBreak(data, pos, h, at)
			if err != nil || end {
				return pos + 1, 0, err
			}
			if pos, err = skipItems(data, pos, 1, 0); err != nil {
				return 0, 0, err
			}
		}
		if h.Info == cborhead.Indefinite {
			if end, err := atBreak(data, pos, h, at); err != nil || end {
				return pos + 1, 0, err
			}
		}
		if want &^= 1 << uint(child); last && want == 0 {
			return pos, n.First + child, nil
		}
		if pos, err = f.searchItem(pos, n.First+child, false); err != nil {
			return 0, 0, err
		}
	}
	if last {
		return 0, 0, nil
	}
	if h.Info == cborhead.Indefinite {
		h.Next = pos
		pos, err = skipToBreak(data, h, 0)
		return pos, 0, err
	}
	left := h.Arg - uint64(at)
	if left > uint64(len(data)-pos) {
		return 0, 0, io.ErrUnexpectedEOF
	}
	pos, err = skipItems(data, pos, int(left), 0)
	return pos, 0, err
}
