package cbor

import (
	"fmt"
	"io"
	"math/bits"

	"example.com/ferry/field"
)

// Find is Lookup for all paths of s in one pass over data, which ends as soon as all are found. It allocates nothing.
func (Format) Find(data []byte, s *field.Set, spans []field.Span) error {
	if len(spans) < s.Len() {
		return fmt.Errorf("cbor: room for %d spans where the set has %d paths", len(spans), s.Len())
	}
	clear(spans[:s.Len()])
	f := finder{data: data, nodes: s.Nodes(), spans: spans}
	_, err := f.item(0, 0, true)
	return err
}

// finder descends at most field.MaxSteps levels.
type finder struct {
	data  []byte
	nodes []field.Node
	spans []field.Span
}

// item finds what the set wants in the item at pos, where node stands, and returns the offset behind it. With last,
// nothing else is wanted: the search ends with its last hit, and the offset means nothing.
func (f *finder) item(pos, node int, last bool) (int, error) {
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
		return skip(f.data, pos, 1, 0)
	}
	h, at, err := pastTags(f.data, pos)
	if err != nil {
		return 0, err
	}
	want := ^uint64(0) >> (64 - uint(n.Count)) // the children not met yet
	switch {
	case h.major == majorMap:
		return f.inMap(h, n, want, last)
	case h.major == majorArray:
		return f.inArray(h, n, want, last)
	case last:
		return 0, nil
	}
	return skip(f.data, at, 1, 0)
}

func (f *finder) inMap(h head, n *field.Node, want uint64, last bool) (int, error) {
	data, pos := f.data, h.next
	children := f.nodes[n.First : n.First+n.Count]
	var w wish
	for i := range children {
		w.add(&children[i].Step)
	}
	for left := h.pairs(); left != 0; left-- {
		if pos, left = w.pass(data, pos, left); left == 0 {
			break
		}
		if uint(pos) >= uint(len(data)) {
			return 0, io.ErrUnexpectedEOF
		}
		b := data[pos]
		if b == byteBreak && h.info == indefinite {
			return pos + 1, nil
		}
		var child int
		if size := b - majorText<<5; size < 24 {
			key := pos + 1
			if pos = key + int(size); pos > len(data) {
				return 0, io.ErrUnexpectedEOF
			}
			child = named(children, want, data[key:pos])
		} else {
			k, err := readKey(data, pos)
			if err != nil {
				return 0, err
			}
			pos = k.end
			child = asked(children, want, data, k)
		}
		if child >= 0 {
			want &^= 1 << uint(child)
			if c := &children[child]; c.Count == 0 {
				s, err := spanAt(data, pos)
				if err != nil {
					return 0, err
				}
				f.spans[c.Leaf], pos = s, s.End
			} else {
				var err error
				if pos, err = f.item(pos, n.First+child, last && want == 0); err != nil {
					return 0, err
				}
			}
			if want == 0 {
				if last {
					return 0, nil
				}
				w = wish{}
			}
			continue
		}
		var err error
		if pos, err = skip(data, pos, 1, 0); err != nil {
			return 0, err
		}
	}
	if pos > len(data) {
		return 0, io.ErrUnexpectedEOF
	}
	return pos, nil
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

// asked returns which of the wanted children asks for k, or -1.
func asked(children []field.Node, want uint64, data []byte, k key) int {
	for ; want != 0; want &= want - 1 {
		i := bits.TrailingZeros64(want)
		if k.is(data, &children[i].Step) {
			return i
		}
	}
	return -1
}

// lowest returns which of the wanted children has the lowest index, and that index; -1 if none has an index.
func lowest(children []field.Node, want uint64) (child, index int) {
	child = -1
	for ; want != 0; want &= want - 1 {
		i := bits.TrailingZeros64(want)
		if n := children[i].Step.Index; n >= 0 && (child < 0 || n < index) {
			child, index = i, n
		}
	}
	return child, index
}

func (f *finder) inArray(h head, n *field.Node, want uint64, last bool) (int, error) {
	data, pos := f.data, h.next
	children := f.nodes[n.First : n.First+n.Count]
	at := 0 // the index of the item at pos
	for ; want != 0; at++ {
		child, index := lowest(children, want)
		if child < 0 || h.info != indefinite && uint64(index) >= h.arg {
			break
		}
		var err error
		if h.info != indefinite {
			if pos, err = skip(data, pos, index-at, 0); err != nil {
				return 0, err
			}
			at = index
		}
		for ; at < index; at++ {
			end, err := atBreak(data, pos, h, at)
			if err != nil || end {
				return pos + 1, err
			}
			if pos, err = skip(data, pos, 1, 0); err != nil {
				return 0, err
			}
		}
		if h.info == indefinite {
			if end, err := atBreak(data, pos, h, at); err != nil || end {
				return pos + 1, err
			}
		}
		want &^= 1 << uint(child)
		if pos, err = f.item(pos, n.First+child, last && want == 0); err != nil || last && want == 0 {
			return 0, err
		}
	}
	if last {
		return 0, nil
	}
	if h.info == indefinite {
		h.next = pos
		return skipToBreak(data, h, 0)
	}
	left := h.arg - uint64(at)
	if left > uint64(len(data)-pos) {
		return 0, io.ErrUnexpectedEOF
	}
	return skip(data, pos, int(left), 0)
}
