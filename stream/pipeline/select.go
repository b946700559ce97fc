package pipeline

import (
	"example.com/ferry"
)

// selectStage makes a record of fields and computed values of a message.
type selectStage struct {
	link
	names   [][]byte
	compute []expression
	reader  *reader
	scratch evaluation
	record  []byte
	made    message
}

func (s *selectStage) handle(r *run, g *group, m *message) {
	s.now.in++
	s.reader.read(r.typed[m.typ], m)
	s.scratch.values, s.scratch.time, s.scratch.text = s.reader.values, m.time, s.scratch.text[:0]
	s.record = append(s.record[:0], '{')
	for i, compute := range s.compute {
		v, ok := compute(&s.scratch)
		if !ok {
			s.now.skipped++
			return
		}
		s.record = appendValue(appendName(s.record, s.names[i]), &v)
	}
	s.record = append(s.record, '}')
	s.made = message{tag: m.tag, typ: ferry.JSON, payload: s.record, time: m.time, key: m.key, isRecord: true}
	s.pass(r, g, &s.made)
}
