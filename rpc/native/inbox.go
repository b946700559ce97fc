package native

import (
	"fmt"
	"sync"

	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
)

// maxPooled is the capacity, in bytes, up to which the memory of a message is used again.
const maxPooled = 64 << 10

// leastMessage is the memory, in bytes, of a short message.
const leastMessage = 512

// message is one message of a call as it travelled.
type message struct {
	b          []byte
	compressed bool
	next       *message // in an inbox
}

var messages = sync.Pool{New: func() any { return &message{} }}

func newMessage() *message {
	m, _ := messages.Get().(*message)
	return m
}

// free gives the memory of m back. m may be nil.
func (m *message) free() {
	if m == nil || cap(m.b) > maxPooled {
		return
	}
	if overwriteFreed {
		full := m.b[:cap(m.b)]
		for i := range full {
			full[i] = 0xdb
		}
	}
	m.b, m.compressed, m.next = m.b[:0], false, nil
	messages.Put(m)
}

// inbox holds the messages of a call that have arrived and were not read. The session's lock guards it.
type inbox struct {
	first, last *message // complete messages
	partial     *message // its first pieces have arrived
	unread      int      // bytes that arrived, less those that were credited
	uncredited  int      // bytes of messages that were read, for which the sender has no credit yet
	ended       bool     // no further message comes
	discarding  bool     // the call has failed: what still arrives is dropped
}

// add appends what a frame carries. limit is the longest message in bytes, window the credit that the sender had at first. done
// is set if a message is complete. A refusal is a *call.Status, if the call can end with it, or a *wire.Error.
func (b *inbox) add(flags byte, piece []byte, limit, window int) (done bool, refusal error) {
	if flags&wire.FlagNoMessage != 0 {
		if b.partial != nil {
			return false, &wire.Error{Code: wire.CodeProtocol, Reason: "a frame without a message, within a message"}
		}
		return false, nil
	}
	m := b.partial
	if m == nil {
		if b.unread >= window {
			return false, &wire.Error{Code: wire.CodeCredit, Reason: fmt.Sprintf("a message begins when %d bytes of a window of %d are in use", b.unread, window)}
		}
		if m = newMessage(); m.b == nil {
			m.b = make([]byte, 0, max(len(piece), leastMessage))
		}
		m.compressed = flags&wire.FlagCompressed != 0
		b.unread += wire.MessageOverhead
	}
	b.unread += len(piece)
	m.b = append(m.b, piece...)
	if len(m.b) > limit {
		b.partial = nil
		m.free()
		return false, tooLong(limit)
	}
	if flags&wire.FlagMore != 0 {
		b.partial = m
		return false, nil
	}
	b.partial = nil
	if b.last == nil {
		b.first = m
	} else {
		b.last.next = m
	}
	b.last = m
	return true, nil
}

func tooLong(limit int) *call.Status {
	return &call.Status{Code: call.ResourceExhausted, Message: fmt.Sprintf("a message is longer than the %d bytes that this end accepts", limit)}
}

// take removes the oldest message. It returns nil if there is none.
func (b *inbox) take() *message {
	m := b.first
	if m != nil {
		if b.first = m.next; b.first == nil {
			b.last = nil
		}
		m.next = nil
	}
	return m
}

// discard frees all messages, and those that still arrive.
func (b *inbox) discard() {
	for m := b.take(); m != nil; m = b.take() {
		m.free()
	}
	b.dropPartial()
	b.discarding = true
}

// dropPartial drops a message that will not be complete.
func (b *inbox) dropPartial() {
	b.partial.free()
	b.partial = nil
}

// returned notes that a message of n bytes was read. It returns how many bytes of credit to return now: half a window, or nothing.
func (b *inbox) returned(n, window int) int {
	b.uncredited += n
	if 2*b.uncredited < window {
		return 0
	}
	n = b.uncredited
	b.uncredited = 0
	b.unread -= n
	return n
}
