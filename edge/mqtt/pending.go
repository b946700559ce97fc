package mqtt

import (
	"errors"
	"sync/atomic"

	"example.com/ferry/broker"
	wire "example.com/ferry/protocol/mqtt"
)

// pending are the messages of a client whose PUBACK or PUBREC is not sent yet, in the order in which they arrived. The responses keep
// that order: MQTT 5.0, section 4.6.
type pending struct {
	list       []pendingPublish
	first      uint64 // number of list[0]
	orphans    int    // of the list, which the client does not count as sent on its connection
	unreleased int    // messages with QoS 2 of this connection that are no longer in the list, and that the client has not released
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

// resolve notes that count messages from number first on are stored, or not, and responds as far as the order allows. What can never be stored harms
// no other message of the run.
func (s *session) resolve(first uint64, count int, err error) {
	code, refused := wire.Success, []int(nil)
	var e *broker.RefusedError
	switch {
	case errors.As(err, &e):
		refused = e.Messages
	case err != nil:
		code = wire.UnspecifiedError
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.pending.list[first-s.pending.first:][:count]
	for i := range list {
		list[i].done, list[i].code = true, code
	}
	for _, i := range refused {
		list[i].code = publishCode(e.Why)
	}
	s.respondInOrder()
}

// respondInOrder appends the responses that are due. The caller holds the lock.
func (s *session) respondInOrder() {
	p := &s.pending
	n := 0
	for n < len(p.list) && p.list[n].done {
		if p.list[n].orphan {
			p.orphans--
		}
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
			} else if !p.orphan {
				s.pending.unreleased++
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

// unacknowledged returns how many messages of the present connection the client has not got the last response for: MQTT 5.0, section 4.9. The caller holds
// the lock.
func (p *pending) unacknowledged() int { return len(p.list) - p.orphans + p.unreleased }

// orphan notes that the connection has ended. The caller holds the lock.
func (p *pending) orphan() {
	for i := range p.list {
		p.list[i].orphan = true
	}
	p.orphans, p.unreleased = len(p.list), 0
}
