package pipeline

import "example.com/ferry"

// scanStage makes a record for each message, of all messages of the group so far.
type scanStage struct {
	link
	*aggregates
	record []byte
	made   message
}

type scanSlot struct {
	collection
	aggregates int
}

func (s *scanStage) handle(r *run, g *group, m *message) {
	s.now.in++
	if !s.readValues(r, m) {
		s.now.skipped++
		return
	}
	slot := slotOf[*scanSlot](g, s.index, s)
	s.add(&slot.collection, m.time)
	b := append(append(s.record[:0], '{'), g.fields...)
	s.record = append(s.appendRecord(b, &slot.collection), '}')
	s.made = message{tag: m.tag, typ: ferry.JSON, payload: s.record, time: m.time, key: m.key, isRecord: true}
	s.pass(r, g, &s.made)
}

func (s *scanStage) newSlot() slot { return &scanSlot{aggregates: len(s.list)} }

func (s *scanSlot) due() int64               { return never }
func (s *scanSlot) open() int                { return 0 }
func (s *scanSlot) idle(int64) bool          { return false }
func (s *scanSlot) append(dst []byte) []byte { return s.collection.append(dst) }
func (s *scanSlot) read(from *saved)         { s.collection.read(from, s.aggregates) }
