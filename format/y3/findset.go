package y3

import "example.com/ferry/field"

// Find looks up all paths of s in one pass. The pass ends when all are found.
func (f Format) Find(data []byte, s *field.Set, spans []field.Span) error {
	return find(data, s.Nodes(), spans[:s.Len()], f.Dialect) // the compiler inlines Find into its wrapper for interface calls, so such a call is one call
}

func find(data []byte, nodes []field.Node, spans []field.Span, d Dialect) error {
	for i := range spans {
		spans[i] = field.Span{}
	}
	var s setSearch // set field by field, because the compiler would build a composite literal elsewhere and copy it
	s.data, s.nodes, s.spans, s.left, s.dialect = data, nodes, spans, len(spans), d
	if leaf := nodes[0].Leaf; leaf >= 0 {
		spans[leaf] = field.Span{End: len(data), Kind: field.Map}
		s.left--
	}
	return s.searchKeys(&nodes[0], 0, len(data))
}

// setSearch is one pass over a message for all paths of a set.
type setSearch struct {
	data    []byte
	nodes   []field.Node
	spans   []field.Span
	left    int // number of paths still to be found
	dialect Dialect
}

// searchKeys searches the packets of data[pos:end] for the children of parent. want has a bit for each key that is
// still to be found. Of several packets with one key, the first counts.
func (s *setSearch) searchKeys(parent *field.Node, pos, end int) error {
	children := s.nodes[parent.First:][:parent.Count]
	var want uint64
	for i := range children {
		if key := children[i].Step.Key; key >= 0 {
			want |= 1 << (key & keyMask)
		}
	}
	for want != 0 && s.left > 0 {
		head, err := scanPackets(s.data, pos, end, want)
		if err != nil || head == end {
			return err
		}
		p := Packet{Tag: s.data[head], Head: head, Off: head + 2, End: head + 2 + int(s.data[head+1])}
		if p.End >= p.Off+0x40 || p.End > end { // a long packet, or one that exceeds end
			if p, err = Next(s.data, head, end); err != nil {
				return err
			}
		}
		want &^= 1 << (p.Tag & keyMask)
		for i := range children {
			if children[i].Step.Key != p.Key() {
				continue
			}
			if err := s.storeHit(&children[i], p); err != nil {
				return err
			}
		}
		pos = p.End
	}
	return nil
}

// searchItems searches a slice for the children of parent. Their steps are indices.
func (s *setSearch) searchItems(parent *field.Node, pos, end int) error {
	children := s.nodes[parent.First:][:parent.Count]
	last := -1
	for i := range children {
		last = max(last, children[i].Step.Index)
	}
	for index := 0; index <= last && s.left > 0 && pos < end; {
		p, err := Next(s.data, pos, end)
		if err != nil {
			return err
		}
		if p.Key() == 0 {
			for i := range children {
				if children[i].Step.Index == index {
					if err := s.storeHit(&children[i], p); err != nil {
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

// storeHit stores p as the span of node. It then searches p for the children of node.
func (s *setSearch) storeHit(node *field.Node, p Packet) error {
	span := s.dialect.span(s.data, p)
	if node.Leaf >= 0 {
		s.spans[node.Leaf] = span
		s.left--
	}
	switch {
	case node.Count == 0 || s.left == 0 || !p.IsNode():
		return nil
	case span.Kind == field.List:
		return s.searchItems(node, p.Off, p.End)
	}
	return s.searchKeys(node, p.Off, p.End)
}
