package pipeline

import (
	"encoding/binary"
	"time"
)

// holdStage keeps the newest message of a group and passes it on later: debounce when no other one has followed for the period,
// sample at the end of each period.
type holdStage struct {
	link
	period  time.Duration
	restart bool // each message begins the period again
}

// holdSlot is the held message and when it is passed on.
type holdSlot struct {
	message
	until int64 // never if no message is held
}

func (s *holdStage) newSlot() slot { return &holdSlot{until: never} }

func (s *holdStage) handle(r *run, g *group, m *message) {
	s.now.in++
	slot := slotOf[*holdSlot](g, s.index, s)
	if s.restart || slot.until == never {
		slot.until = r.time + int64(s.period)
	}
	m.copyTo(&slot.message)
}

func (s *holdStage) advance(r *run, g *group) {
	slot := slotOf[*holdSlot](g, s.index, s)
	if slot.until <= r.time {
		slot.until = never
		s.pass(r, g, &slot.message)
	}
}

func (s *holdSlot) due() int64      { return s.until }
func (s *holdSlot) idle(int64) bool { return s.until == never }

func (s *holdSlot) open() int {
	if s.until == never {
		return 0
	}
	return 1
}

func (s *holdSlot) append(dst []byte) []byte {
	return s.message.append(binary.AppendVarint(dst, s.until))
}

func (s *holdSlot) read(from *saved) {
	s.until = from.varint()
	s.message.read(from)
}

// throttleStage passes a message on, and drops those that follow within the period.
type throttleStage struct {
	link
	period time.Duration
}

type throttleSlot struct{ until int64 }

func (s *throttleStage) handle(r *run, g *group, m *message) {
	s.now.in++
	slot := slotOf[*throttleSlot](g, s.index, s)
	if r.time < slot.until {
		return
	}
	slot.until = r.time + int64(s.period)
	s.pass(r, g, m)
}

func (s *throttleStage) newSlot() slot { return new(throttleSlot) }

func (s *throttleSlot) due() int64               { return never }
func (s *throttleSlot) open() int                { return 0 }
func (s *throttleSlot) idle(now int64) bool      { return s.until <= now }
func (s *throttleSlot) append(dst []byte) []byte { return binary.AppendVarint(dst, s.until) }
func (s *throttleSlot) read(from *saved)         { s.until = from.varint() }
