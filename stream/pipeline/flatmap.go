package pipeline

import (
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// flatMapStage passes on each element of a list as a message of its own, in the format of the message: in JSON, CBOR and MessagePack an
// element's bytes are a message themselves.
type flatMapStage struct {
	link
	list operand
	made message
}

func (s *flatMapStage) handle(r *run, g *group, m *message) {
	s.now.in++
	f := r.typed[m.typ]
	if f == nil {
		s.now.skipped++
		return
	}
	at, err := f.Lookup(m.payload, s.list.path)
	if err != nil || at.Kind != field.List {
		s.now.skipped++
		return
	}
	list := m.payload[at.Head:at.End]
	err = f.Walk(list, func(_ field.Step, depth int, element field.Span) error {
		if depth == 0 {
			return nil
		}
		s.made = message{tag: m.tag, typ: m.typ, payload: list[element.Head:element.End], time: m.time, key: m.key}
		s.pass(r, g, &s.made)
		return format.SkipChildren
	})
	if err != nil {
		s.now.skipped++
	}
}
