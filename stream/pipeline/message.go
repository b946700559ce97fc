package pipeline

import (
	"encoding/binary"

	"example.com/ferry"
)

// message is what passes from one step to the next: a message as it was received, or a record that a step has made of messages.
// It borrows its payload and key.
type message struct {
	tag      string // of the received message; for a record, of the newest one in it
	typ      ferry.Type
	payload  []byte
	time     int64 // Unix nanoseconds at the source; for a record, of the newest message in it
	key      []byte
	isRecord bool // a step has made the payload
}

// copyTo stores a copy of m in to, whose memory it uses again.
func (m *message) copyTo(to *message) {
	to.payload, to.key = append(to.payload[:0], m.payload...), append(to.key[:0], m.key...)
	to.tag, to.typ, to.time, to.isRecord = m.tag, m.typ, m.time, m.isRecord
}

// append appends m as a part of saved state.
func (m *message) append(dst []byte) []byte {
	dst = appendBytes(dst, m.tag)
	dst = append(dst, byte(m.typ), boolByte(m.isRecord))
	dst = binary.AppendVarint(dst, m.time)
	dst = appendBytes(dst, m.key)
	return appendBytes(dst, m.payload)
}

// read reads what append has appended.
func (m *message) read(s *saved) {
	m.tag = string(s.bytes())
	m.typ, m.isRecord = ferry.Type(s.byte()), s.byte() != 0
	m.time = s.varint()
	m.key = append(m.key[:0], s.bytes()...)
	m.payload = append(m.payload[:0], s.bytes()...)
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
