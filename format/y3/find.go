package y3

import "example.com/ferry/field"

// Find is Lookup for all paths of s in one pass, which ends as soon as all are found; format.Format has the details.
func (f Format) Find(data []byte, s *field.Set, spans []field.Span) error {
	spans = spans[:s.Len()]
	clear(spans)
	nodes := s.Nodes()
	left := len(spans)
	if nodes[0].Leaf >= 0 {
		spans[nodes[0].Leaf] = field.Span{End: len(data), Kind: field.Map}
		left--
	}
	search := search{data: data, nodes: nodes, spans: spans, left: left, dialect: f.Dialect}
	return search.keys(nodes[0], 0, len(data))
}

// search is a pass for a set of paths.
type search struct {
	data    []byte
	nodes   []field.Node
	spans   []field.Span
	left    int // paths not found yet
	dialect Dialect
}

// keys looks for the children of parent among the packets of data[pos:end]. want has a bit for each key asked for and
// not met yet, as the first packet of a key is the one that counts.
func (s *search) keys(parent field.Node, pos, end int) error {
	var want uint64
	children := s.nodes[parent.First : parent.First+parent.Count]
	for i := range children {
		if key := children[i].Step.Key; key >= 0 {
			want |= 1 << (key & keyMask)
		}
	}
	b := s.data[:end]
	for want != 0 && s.left > 0 && pos < len(b) {
		if uint(pos)+1 >= uint(len(b)) {
			return ends(s.data, pos, end, 0)
		}
		tag, n, off := b[pos], int(b[pos+1]), pos+2
		if n >= 0x40 {
			var err error
			if n, off, err = length(s.data, pos+1, end); err != nil {
				return err
			}
		}
		if n > len(b)-off {
			return ends(s.data, off, end, n)
		}
		if bit := uint64(1) << (tag & keyMask); want&bit != 0 {
			want &^= bit
			p := Packet{Tag: tag, Head: pos, Off: off, End: off + n}
			for i := range children {
				if children[i].Step.Key == p.Key() {
					if err := s.hit(children[i], p); err != nil {
						return err
					}
				}
			}
		}
		pos = off + n
	}
	return nil
}

// items is keys for a slice: the children of parent are indices.
func (s *search) items(parent field.Node, pos, end int) error {
	children := s.nodes[parent.First : parent.First+parent.Count]
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
					if err := s.hit(children[i], p); err != nil {
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

// hit notes that p is where node leads, and goes on below it.
func (s *search) hit(node field.Node, p Packet) error {
	span := s.dialect.span(s.data, p)
	if node.Leaf >= 0 {
		s.spans[node.Leaf] = span
		s.left--
	}
	switch {
	case node.Count == 0 || s.left == 0 || !p.IsNode():
		return nil
	case span.Kind == field.List:
		return s.items(node, p.Off, p.End)
	}
	return s.keys(node, p.Off, p.End)
}
