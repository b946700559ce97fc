package pipeline

import "example.com/ferry/field"

// groupStage finds the group of a message, for the stages behind it.
type groupStage struct {
	link
	byTag  bool // each tag is a group
	names  [][]byte
	reader *reader // of the fields of group_by
	key    []byte
}

func (s *groupStage) handle(r *run, _ *group, m *message) {
	s.now.in++
	if !s.readKey(r, m) {
		s.now.skipped++
		return
	}
	g := r.groups.byKey[string(s.key)]
	if g == nil {
		if g = s.begin(r, m); g == nil {
			r.refused++
			return
		}
	} else {
		r.groups.recent.MoveToBack(g.recent)
		g.used = r.time
	}
	if r.saves {
		r.changed(g) // so that the message is acknowledged once the state with it is stored
		if g.input != r.inputs && !r.isNew(g, r.input) {
			return
		}
		g.input = r.inputs
	}
	if g.due <= r.time {
		r.advance(g)
	}
	s.pass(r, g, m)
	r.groups.updated(g)
}

// readKey makes the key of the group of m.
func (s *groupStage) readKey(r *run, m *message) bool {
	if s.byTag {
		s.key = append(s.key[:0], m.tag...)
		return true
	}
	s.reader.read(r.typed[m.typ], m)
	s.key = s.key[:0]
	for i := range s.reader.values {
		v := &s.reader.values[i]
		if v.Kind == field.Missing {
			return false
		}
		s.key = appendValue(appendName(s.key, s.names[i]), v)
	}
	return true
}

// resultBits is the number of bits by which the number of a group's first result exceeds the sequence number of its first message. A
// group that was dropped and begins again must not use the IDs of its earlier results: the stream would drop the new ones.
const resultBits = 20

// begin adds a group. It returns nil if there are too many.
func (s *groupStage) begin(r *run, m *message) *group {
	if len(r.groups.byKey) >= r.groups.limit {
		old := r.groups.crowded(r.time)
		if old == nil {
			return nil
		}
		r.drop(old)
	}
	g := &group{key: string(s.key), tag: m.tag, slots: make([]slot, r.slots), sent: r.input.Sequence << resultBits}
	if !s.byTag {
		g.fields = []byte(g.key) // the key is the fields, in JSON
	}
	r.groups.add(g, r.time)
	return g
}
