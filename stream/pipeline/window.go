package pipeline

import (
	"encoding/binary"
	"strconv"
	"time"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/stream/internal/window"
)

// windowStage collects messages in windows, and makes a record of each window that ends.
type windowStage struct {
	link
	*aggregates
	kind      window.Config
	eventTime int // index of the operand in the reader; -1 for the time of arrival
	unit      int64
	lateness  int64
	ahead     int64
	idle      int64
	record    []byte
	made      message
}

// windowSlot is the open windows of a group.
type windowSlot struct {
	stage *windowStage
	window.Windows[collection]
	newest  int64 // event time of the newest message
	silence int64 // by the clock: when the group has been idle
	forget  int64 // by the clock: when further messages of windows that have ended are no longer expected
}

func (s *windowStage) handle(r *run, g *group, m *message) {
	s.now.in++
	if !s.readValues(r, m) {
		s.now.skipped++
		return
	}
	at := r.time
	if s.eventTime >= 0 {
		var ok bool
		if at, ok = timeOf(&s.reader.values[s.eventTime], s.unit); !ok || at-r.time > s.ahead {
			s.now.skipped++
			return
		}
	}
	slot := slotOf[*windowSlot](g, s.index, s)
	belongs := slot.Add(at)
	if len(belongs) == 0 {
		s.now.late++
	}
	for _, each := range belongs {
		s.add(&each.Acc, m.time)
	}
	if s.eventTime >= 0 {
		slot.newest, slot.silence, slot.forget = max(slot.newest, at), r.time+s.idle, r.time+2*s.idle
		s.close(r, g, slot, slot.newest-s.lateness)
		return
	}
	s.close(r, g, slot, r.time)
}

func (s *windowStage) newSlot() slot {
	slot := &windowSlot{stage: s, newest: -never, silence: never}
	slot.Config, slot.Merge = s.kind, s.merge
	return slot
}

// advance closes windows whose time has come, and all of a group that has been idle.
func (s *windowStage) advance(r *run, g *group) {
	slot := slotOf[*windowSlot](g, s.index, s)
	switch {
	case s.eventTime < 0:
		s.close(r, g, slot, r.time)
	case slot.silence <= r.time:
		slot.silence = never
		for each := slot.Flush(); each != nil; each = slot.Flush() {
			s.emit(r, g, each)
		}
	}
}

// close makes records of the windows that have ended at a watermark.
func (s *windowStage) close(r *run, g *group, slot *windowSlot, watermark int64) {
	for each := slot.Pop(watermark); each != nil; each = slot.Pop(watermark) {
		s.emit(r, g, each)
	}
}

// emit makes the record of a window.
func (s *windowStage) emit(r *run, g *group, w *window.Window[collection]) {
	b := append(append(s.record[:0], '{'), g.fields...)
	b = strconv.AppendInt(appendName(b, startName), w.Start, 10)
	b = strconv.AppendInt(appendName(b, endName), w.End, 10)
	s.record = append(s.appendRecord(b, &w.Acc), '}')
	s.made = message{tag: g.tag, typ: ferry.JSON, payload: s.record, time: w.Acc.newest, isRecord: true}
	s.pass(r, g, &s.made)
}

var startName, endName = quotedName("start"), quotedName("end")

func (s *windowSlot) due() int64 {
	if s.stage.eventTime < 0 {
		return s.Due()
	}
	if s.Len() == 0 {
		return never
	}
	return s.silence
}

func (s *windowSlot) open() int           { return s.Len() }
func (s *windowSlot) idle(now int64) bool { return s.Len() == 0 && s.forget <= now }

func (s *windowSlot) append(dst []byte) []byte {
	open, watermark, ok := s.Open()
	dst = append(dst, boolByte(ok))
	for _, v := range []int64{watermark, s.newest, s.silence, s.forget} {
		dst = binary.AppendVarint(dst, v)
	}
	dst = binary.AppendUvarint(dst, uint64(len(open)))
	for _, each := range open {
		dst = binary.AppendVarint(dst, each.Start)
		dst = binary.AppendVarint(dst, each.End)
		dst = binary.AppendUvarint(dst, uint64(each.Count))
		dst = each.Acc.append(dst)
	}
	return dst
}

func (s *windowSlot) read(from *saved) {
	ok, watermark := from.byte() != 0, from.varint()
	s.newest, s.silence, s.forget = from.varint(), from.varint(), from.varint()
	var open []*window.Window[collection]
	for range from.count() {
		each := &window.Window[collection]{Start: from.varint(), End: from.varint(), Count: int(from.uvarint())}
		each.Acc.read(from, len(s.stage.list))
		open = append(open, each)
	}
	s.Restore(open, watermark, ok)
}

// farthest bounds event times, in Unix nanoseconds: the year 2116. Sums with the lengths of windows do not overflow.
const farthest = 1 << 62

// timeOf returns a value as Unix nanoseconds: a number in units, or text as in RFC 3339.
func timeOf(v *field.Value, unit int64) (int64, bool) {
	if n, ok := v.Integer(); ok {
		return n * unit, -farthest/unit < n && n < farthest/unit
	}
	if f, ok := v.Number(); ok {
		f *= float64(unit)
		return int64(f), -farthest < f && f < farthest
	}
	if v.Kind != field.Text {
		return 0, false
	}
	t, err := time.Parse(time.RFC3339Nano, string(v.Bytes))
	return t.UnixNano(), err == nil && t.Year() > 1900 && t.Year() < 2116
}
