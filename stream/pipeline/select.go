package pipeline

import (
	"example.com/ferry"
	"example.com/ferry/field"
)

// selectStage makes a record of fields of a message.
type selectStage struct {
	link
	names  [][]byte
	reader *reader
	record []byte
	made   message
}

func (s *selectStage) handle(r *run, g *group, m *message) {
	s.now.in++
	s.reader.read(r.typed[m.typ], m)
	s.record = append(s.record[:0], '{')
	for i := range s.reader.values {
		v := &s.reader.values[i]
		if v.Kind == field.Missing {
			s.now.skipped++
			return
		}
		s.record = appendValue(appendName(s.record, s.names[i]), v)
	}
	s.record = append(s.record, '}')
	s.made = message{tag: m.tag, typ: ferry.JSON, payload: s.record, time: m.time, key: m.key, isRecord: true}
	s.pass(r, g, &s.made)
}
