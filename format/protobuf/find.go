package protobuf

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format/schema"
)

// Find is Lookup for all paths of s in one pass over data, which ends as soon as all are found. It allocates nothing.
func (f Format) Find(data []byte, s *field.Set, spans []field.Span) error {
	if len(spans) < s.Len() {
		return fmt.Errorf("protobuf: room for %d spans where the set has %d paths", len(spans), s.Len())
	}
	spans = spans[:s.Len()]
	clear(spans)
	g := finder{data: data, nodes: s.Nodes(), spans: spans, left: len(spans)}
	return g.hit(&g.nodes[0], f.root(data))
}

// finder is a pass for a set of paths.
type finder struct {
	data  []byte
	nodes []field.Node
	spans []field.Span
	left  int // paths not found yet
}

// hit notes that node leads to p, and goes on below it.
func (f *finder) hit(node *field.Node, p place) error {
	if node.Leaf >= 0 {
		f.spans[node.Leaf] = p.span
		f.left--
	}
	switch {
	case node.Count == 0 || f.left == 0:
		return nil
	case p.span.Kind == field.List:
		return f.items(node, p)
	case p.isMessage():
		return f.fields(node, p.span, p.message)
	}
	return nil
}

// fields looks for the children of node among the records of a message. want has a bit for the number of each child that
// was not met yet: the first record with a number is the one that counts.
func (f *finder) fields(node *field.Node, s field.Span, m *schema.Message) error {
	children := f.nodes[node.First:][:node.Count]
	var met, want uint64 // by child, by number
	for i := range children {
		if number := named(m, &children[i].Step); number > 0 {
			want |= bit(number)
		}
	}
	hint := 0
	for pos := s.Off; want != 0 && f.left > 0; {
		r, err := scan(f.data, pos, s.End, want)
		if err != nil || r.end == 0 {
			return err
		}
		pos = r.end
		var still uint64
		for i := range children {
			number := named(m, &children[i].Step)
			if met>>i&1 != 0 || number <= 0 {
				continue
			}
			if number != r.number() {
				still |= bit(number)
				continue
			}
			met |= 1 << i
			p, err := placeOf(f.data, r, numbered(m, number, &hint), s.End)
			if err != nil {
				return err
			}
			if err := f.hit(&children[i], p); err != nil {
				return err
			}
		}
		want = still
	}
	return nil
}

// items looks for the children of node, which are indices, in a list.
func (f *finder) items(node *field.Node, list place) error {
	children := f.nodes[node.First:][:node.Count]
	last := -1
	for i := range children {
		last = max(last, children[i].Step.Index)
	}
	var below error
	err := items(f.data, list.span, list.shape, func(index int, r record, s field.Span) bool {
		p := itemOf(r, list.shape)
		p.span = s
		for i := range children {
			if children[i].Step.Index == index && below == nil {
				below = f.hit(&children[i], p)
			}
		}
		return index < last && f.left > 0 && below == nil
	})
	if below != nil {
		return below
	}
	return err
}
