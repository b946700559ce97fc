package pipeline

import (
	"encoding/binary"

	"example.com/ferry/field"
)

// distinctStage passes on messages with values that are new to the group: among the last remembered ones.
type distinctStage struct {
	link
	reader     *reader
	remembered int // 1 compares with the message before
	text       []byte
}

// distinctSlot has the hashes of the values, and their order.
type distinctSlot struct {
	seen   map[uint64]struct{}
	order  []uint64 // a ring, once it is full
	oldest int
	limit  int
}

func (s *distinctStage) handle(r *run, g *group, m *message) {
	s.now.in++
	s.reader.read(r.typed[m.typ], m)
	s.text = s.text[:0]
	for i := range s.reader.values {
		v := &s.reader.values[i]
		if v.Kind == field.Missing {
			s.now.skipped++
			return
		}
		s.text = append(appendValue(s.text, v), ',')
	}
	if slotOf[*distinctSlot](g, s.index, s).add(hash(s.text)) {
		s.pass(r, g, m)
	}
}

func (s *distinctStage) newSlot() slot { return &distinctSlot{limit: s.remembered} }

// add reports whether h is new, and remembers it.
func (s *distinctSlot) add(h uint64) bool {
	if _, ok := s.seen[h]; ok {
		return false
	}
	if s.seen == nil {
		s.seen = map[uint64]struct{}{}
	}
	s.seen[h] = struct{}{}
	if len(s.order) < s.limit {
		s.order = append(s.order, h)
		return true
	}
	delete(s.seen, s.order[s.oldest])
	s.order[s.oldest] = h
	s.oldest = (s.oldest + 1) % s.limit
	return true
}

func (s *distinctSlot) due() int64      { return never }
func (s *distinctSlot) open() int       { return 0 }
func (s *distinctSlot) idle(int64) bool { return false }

func (s *distinctSlot) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s.order)))
	for i := range s.order {
		dst = binary.LittleEndian.AppendUint64(dst, s.order[(s.oldest+i)%len(s.order)])
	}
	return dst
}

func (s *distinctSlot) read(from *saved) {
	for range from.count() {
		s.add(from.uint64())
	}
}
