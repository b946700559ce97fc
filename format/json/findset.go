package json

import (
	"io"
	"math/bits"

	"example.com/ferry/field"
)

// setSearch is the search for all paths of a set. Its recursion is at most field.MaxSteps levels deep.
type setSearch struct {
	data  []byte
	nodes []field.Node
	spans []field.Span
}

// searchValue searches the value at pos for the paths below node, and returns the offset after the value. last means
// that no path outside this value is left. In that case the search ends with the last path found, and the returned
// offset is meaningless.
func (f *setSearch) searchValue(pos, node int, last bool) (int, error) {
	n := &f.nodes[node]
	if n.Leaf >= 0 {
		s, err := spanAt(f.data, pos)
		if err != nil {
			return 0, err
		}
		f.spans[n.Leaf] = s
		if n.Count == 0 {
			return endOf(s), nil
		}
	}
	if pos >= len(f.data) {
		return 0, io.ErrUnexpectedEOF
	}
	if n.Count == 0 {
		return skipValue(f.data, pos)
	}
	want := ^uint64(0) >> (64 - uint(n.Count)) // the children not found yet
	switch f.data[pos] {
	case '{':
		return f.searchObject(pos+1, n, want, last)
	case '[':
		return f.searchList(pos+1, n, want, last)
	}
	s, err := spanAt(f.data, pos)
	return endOf(s), err
}

func (f *setSearch) searchObject(pos int, n *field.Node, want uint64, last bool) (int, error) {
	children := f.nodes[n.First : n.First+n.Count]
	names := n.Filter.Names
	for start := pos; ; {
		m, err := findMember(f.data, pos, pos == start, names)
		if err != nil || m.value == 0 {
			return m.next, err
		}
		child := childWithName(children, want, f.data, &m)
		if child < 0 {
			if pos, err = skipValue(f.data, m.value); err != nil {
				return 0, err
			}
			continue
		}
		want &^= 1 << uint(child)
		names = n.NamesAfter(names, &children[child])
		if c := &children[child]; c.Count == 0 {
			s, err := spanAt(f.data, m.value)
			if err != nil {
				return 0, err
			}
			f.spans[c.Leaf], pos = s, endOf(s)
		} else if pos, err = f.searchValue(m.value, n.First+child, last && want == 0); err != nil {
			return 0, err
		}
		if want == 0 {
			if last {
				return 0, nil
			}
			names = 0
		}
	}
}

// childWithName returns the child with the name of m from the set want, or -1.
func childWithName(children []field.Node, want uint64, data []byte, m *member) int {
	name := data[m.key:m.keyEnd]
	for ; want != 0; want &= want - 1 {
		i := bits.TrailingZeros64(want)
		if m.escaped && m.hasName(data, children[i].Step.Name) || !m.escaped && string(name) == children[i].Step.Name {
			return i
		}
	}
	return -1
}

func (f *setSearch) searchList(pos int, n *field.Node, want uint64, last bool) (int, error) {
	children := f.nodes[n.First : n.First+n.Count]
	for i := range children {
		if children[i].Step.Index < 0 {
			want &^= 1 << uint(i)
		}
	}
	for i := 0; want != 0 || !last; i++ {
		at, end, err := readSeparator(f.data, pos, i == 0, ']')
		if err != nil || end {
			return at, err
		}
		child := -1
		for w := want; w != 0; w &= w - 1 {
			if c := bits.TrailingZeros64(w); children[c].Step.Index == i {
				child = c
			}
		}
		if child < 0 {
			if pos, err = skipValue(f.data, at); err != nil {
				return 0, err
			}
			continue
		}
		want &^= 1 << uint(child)
		if pos, err = f.searchValue(at, n.First+child, last && want == 0); err != nil {
			return 0, err
		}
	}
	return 0, nil
}
