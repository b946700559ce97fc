package protobuf

import (
	"fmt"
	"math/bits"

	"example.com/ferry/field"
	"example.com/ferry/format/schema"
)

// Find looks up all paths of s in one pass. The pass ends when all are found. Find allocates nothing.
func (f Format) Find(data []byte, s *field.Set, spans []field.Span) error {
	if len(spans) < s.Len() {
		return fmt.Errorf("protobuf: room for %d spans where the set has %d paths", len(spans), s.Len())
	}
	spans = spans[:s.Len()]
	nodes := s.Nodes()
	if f.Message == nil && len(nodes) == 1+nodes[0].Count && nodes[0].Leaf < 0 && distinctNumbers(&nodes[0]) {
		return findTopLevel(data, nodes, spans)
	}
	clear(spans)
	g := setSearch{data: data, nodes: nodes, spans: spans, left: len(spans)}
	return g.searchRoot(f)
}

// distinctNumbers reports whether the children of node have field numbers that do not share a bit.
func distinctNumbers(node *field.Node) bool {
	return bits.OnesCount64(node.Filter.Indices&^1) == node.Count
}

// findTopLevel finds paths of one step, without a schema. nodes is the root and a child for each path. It compares each
// record with the child after the last one that it has found, because most messages have the order of the set.
func findTopLevel(data []byte, nodes []field.Node, spans []field.Span) error {
	want, next := nodes[0].Filter.Indices, 1
	for pos := 0; want != 0; {
		r, err := scanRecords(data, pos, len(data), want)
		if err != nil || r.end == 0 {
			for i := 1; i < len(nodes); i++ {
				if want&numberBit(nodes[i].Step.Index) != 0 {
					spans[nodes[i].Leaf] = field.Span{}
				}
			}
			return err
		}
		pos = r.end
		if next >= len(nodes) || nodes[next].Step.Index != r.number() {
			for next = 1; next < len(nodes) && nodes[next].Step.Index != r.number(); {
				next++
			}
			if next == len(nodes) { // a path shares the bit of this number
				continue
			}
		}
		spans[nodes[next].Leaf] = r.span()
		want &^= numberBit(r.number())
		next++
	}
	return nil
}

// setSearch is one pass over a message for all paths of a set.
type setSearch struct {
	data  []byte
	nodes []field.Node
	spans []field.Span
	left  int // number of paths still to be found
}

// searchRoot is not inlined, because it would enlarge the frame of Find.
//
//go:noinline
func (f *setSearch) searchRoot(form Format) error {
	root := &f.nodes[0]
	if form.Message == nil && root.Leaf < 0 {
		return f.searchNumbers(root, 0, len(f.data))
	}
	return f.storeHit(root, form.rootPlace(f.data))
}

// storeHit stores p as the span of node. It then searches p for the children of node.
func (f *setSearch) storeHit(node *field.Node, p valuePlace) error {
	if node.Leaf >= 0 {
		f.spans[node.Leaf] = p.span
		f.left--
	}
	switch {
	case node.Count == 0 || f.left == 0:
		return nil
	case p.span.Kind == field.List:
		return f.searchItems(node, p)
	case p.isMessage() && p.message == nil:
		return f.searchNumbers(node, p.span.Off, p.span.End)
	case p.isMessage():
		return f.searchFields(node, p.span, p.message)
	}
	return nil
}

// searchNumbers searches data[pos:end] for the children of node, without a schema. It compares each record with the
// first child that is still to be found, because most messages have the order of the set.
func (f *setSearch) searchNumbers(node *field.Node, pos, end int) error {
	children := f.nodes[node.First:][:node.Count]
	var left, want uint64 // children still to be found: a bit for each index, and a bit for each number
	for i := range children {
		if number := children[i].Step.Index; number > 0 {
			left |= 1 << i
			want |= numberBit(number)
		}
	}
	shared := bits.OnesCount64(left) != bits.OnesCount64(want)
	for left != 0 {
		r, err := scanRecords(f.data, pos, end, want)
		if err != nil || r.end == 0 {
			return err
		}
		pos = r.end
		for rest := left; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(rest)
			child := &children[i&63]
			if child.Step.Index != r.number() {
				continue
			}
			left &^= 1 << i
			if !shared {
				want &^= numberBit(r.number())
			}
			if child.Leaf >= 0 {
				f.spans[child.Leaf] = r.span()
				f.left--
			}
			if child.Count > 0 && r.wire() == wireLength {
				if err := f.searchNumbers(child, r.off, r.end); err != nil {
					return err
				}
			}
			break
		}
		if f.left == 0 {
			return nil
		}
	}
	return nil
}

// searchFields searches the records of a message for the children of node, with a schema. want has a bit for the field
// number of each child that is still to be found. Of several records with one number, the first counts.
func (f *setSearch) searchFields(node *field.Node, s field.Span, m *schema.Message) error {
	children := f.nodes[node.First:][:node.Count]
	var found, want uint64 // found has a bit for each child's index, want a bit for each child's number
	for i := range children {
		if number := numberOfName(m, &children[i].Step); number > 0 {
			want |= numberBit(number)
		}
	}
	hint := 0
	for pos := s.Off; want != 0 && f.left > 0; {
		r, err := scanRecords(f.data, pos, s.End, want)
		if err != nil || r.end == 0 {
			return err
		}
		pos = r.end
		var still uint64
		for i := range children {
			number := numberOfName(m, &children[i].Step)
			if found>>i&1 != 0 || number <= 0 {
				continue
			}
			if number != r.number() {
				still |= numberBit(number)
				continue
			}
			found |= 1 << i
			p, err := placeOf(f.data, r, fieldByNumber(m, number, &hint), s.End)
			if err != nil {
				return err
			}
			if err := f.storeHit(&children[i], p); err != nil {
				return err
			}
		}
		want = still
	}
	return nil
}

// searchItems searches a list for the children of node. Their steps are indices.
func (f *setSearch) searchItems(node *field.Node, list valuePlace) error {
	children := f.nodes[node.First:][:node.Count]
	last := -1
	for i := range children {
		last = max(last, children[i].Step.Index)
	}
	var below error
	err := eachItem(f.data, list.span, list.shape, func(index int, r record, s field.Span) bool {
		p := itemOf(r, list.shape)
		p.span = s
		for i := range children {
			if children[i].Step.Index == index && below == nil {
				below = f.storeHit(&children[i], p)
			}
		}
		return index < last && f.left > 0 && below == nil
	})
	if below != nil {
		return below
	}
	return err
}
