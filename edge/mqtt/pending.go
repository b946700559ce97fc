package mqtt

import (
	"sync/atomic"

	wire "example.com/ferry/protocol/mqtt"
)

// pending are the messages of a client whose PUBACK or PUBREC is not sent yet, in the order in which they arrived. The responses keep
// that order: MQTT 5.0, section 4.6.
type pending struct {
	list  []pendingPublish
	first uint64 // number of list[0]
}

// pendingPublish is a message that waits to be stored.
type pendingPublish struct {
	id     uint16
	qos    byte
	done   bool
	orphan bool // its connection has ended: the client repeats the message on the next one
	code   wire.ReasonCode
}

// confirmation is told once that messages are stored, on any goroutine.
type confirmation struct {
	session *session
	first   uint64
	count   int
	err     error
	state   atomic.Int32
	call    func(error) // stored, as a value
}

// The states of a confirmation.
//
//	open ──loop: first and count are set──► armed ──stored──► done: stored confirms
//	  └──stored──► done: the loop confirms
const (
	confirmationOpen int32 = iota
	confirmationArmed
	confirmationDone
)

func newConfirmation() *confirmation {
	f := &confirmation{}
	f.call = f.stored
	return f
}

func (f *confirmation) stored(err error) {
	f.err = err
	if f.state.Swap(confirmationDone) == confirmationArmed {
		f.session.confirm(f.first, f.count, f.err)
	}
}

// confirm is resolve, and wakes the loop. It may be called with locks of the broker held.
func (s *session) confirm(first uint64, count int, err error) {
	s.resolve(first, count, err)
	s.wake()
}

// resolve notes that count messages from number first on are stored, or not, and responds as far as the order allows.
func (s *session) resolve(first uint64, count int, err error) {
	code := wire.Success
	if err != nil {
		code = wire.UnspecifiedError
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := first; n < first+uint64(count); n++ {
		p := &s.pending.list[n-s.pending.first]
		p.done, p.code = true, code
	}
	s.respondInOrder()
}

// respondInOrder appends the responses that are due. The caller holds the lock.
func (s *session) respondInOrder() {
	p := &s.pending
	n := 0
	for n < len(p.list) && p.list[n].done {
		s.respond(&p.list[n])
		n++
	}
	p.first += uint64(n)
	switch {
	case n < len(p.list):
		p.list = p.list[:copy(p.list, p.list[n:])]
	case cap(p.list) > 64:
		p.list = nil
	default:
		p.list = p.list[:0]
	}
}

// respond appends PUBACK or PUBREC for a message that is stored or refused. The caller holds the lock.
func (s *session) respond(p *pendingPublish) {
	failed := p.code.Failed()
	kind, reply := wire.Puback, !p.orphan
	if p.qos == 2 {
		kind = wire.Pubrec
		if state, ok := s.received[p.id]; ok {
			reply = reply || state == receivedRepeated
			if s.received[p.id] = receivedStored; failed {
				delete(s.received, p.id)
			}
			s.changed()
		}
	}
	if !reply || s.conn == nil {
		return
	}
	if failed && s.peer.version != wire.V5 {
		if p.code == wire.UnspecifiedError {
			s.failure = errNotStored // MQTT 3.1.1 has no response that refuses: without one, the client repeats the message
			return
		}
		p.code = wire.Success // refused for good: repeating it would not help
	}
	out := s.room(maxAck)
	out.B = wire.AppendAck(out.B, s.peer.version, wire.AckPacket{Kind: kind, ID: p.id, Code: p.code})
}

// maxAck is at least the length of a PUBACK, PUBREC, PUBREL or PUBCOMP without properties, in bytes.
const maxAck = 8

// orphan notes that the connection has ended. The caller holds the lock.
func (p *pending) orphan() {
	for i := range p.list {
		p.list[i].orphan = true
	}
}
