package stream

import (
	"context"
	"slices"
	"sync"
	"time"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// membership is a stored subscription on one connection. It returns credit to the node, and says what has become of the messages of
// a durable: ACK and NAK gather until a worker has handled what it took from an inbox, or for ackDelay.
type membership struct {
	conn         *conn
	subscription *subscription
	credit       creditReturn

	flushing sync.Mutex // held while gathered frames are passed to the connection, so that a later flush waits for them

	mu         sync.Mutex
	done       []byte            // ranges of the next ACK
	failed     []native.NakFrame // the next NAKs
	held       int               // messages that the node has delivered, and whose ACK or NAK is not gathered yet
	unstored   int               // messages of them that are handled, but have outputs that are not stored
	settled    chan struct{}     // closed when unstored becomes 0; nil unless awaitOutputs waits
	flushArmed bool              // a timer calls flush
	beatArmed  bool              // a timer calls beat
}

// ackDelay is the longest time for which ACK and NAK wait for others.
const ackDelay = 5 * time.Millisecond

// ackSize is the most bytes of ranges in one ACK or NAK.
const ackSize = 170 * native.RangeSize

// defaultAckWait is the time for acknowledgements if the node does not say one.
const defaultAckWait = 30 * time.Second

func newMembership(cn *conn, s *subscription) *membership {
	return &membership{conn: cn, subscription: s, credit: creditReturn{conn: cn, subscription: s.id, tag: native.ByName, window: s.pool.window}}
}

// durable reports whether the node expects ACK or NAK of each message.
func (m *membership) durable() bool { return m.subscription.frame.Durable != "" }

// ended reports whether the connection is lost: the node delivers what it has not acknowledged again.
func (m *membership) ended() bool { return m.conn.peer.State() >= peer.Closing }

// received counts n messages that the node has delivered.
func (m *membership) received(n int) {
	if !m.durable() {
		return
	}
	m.mu.Lock()
	m.held += n
	if !m.beatArmed {
		m.beatArmed = true
		time.AfterFunc(m.subscription.beatInterval(), m.beat)
	}
	m.mu.Unlock()
}

// beat tells the node that the messages which it has delivered are still handled. It is called three times within the time that the
// node waits for an acknowledgement.
func (m *membership) beat() {
	m.mu.Lock()
	m.beatArmed = m.held > 0 && !m.ended() && m.subscription.pool.ctx.Err() == nil
	if m.beatArmed {
		time.AfterFunc(m.subscription.beatInterval(), m.beat)
	}
	armed := m.beatArmed
	m.mu.Unlock()
	if armed {
		m.conn.peer.Tell(func(b []byte) []byte {
			return native.AppendAck(b, native.AckFrame{Sub: m.subscription.id, InProgress: true})
		})
	}
}

// ack gathers the ACK of a message.
func (m *membership) ack(sequence uint64) {
	m.mu.Lock()
	m.done = native.AppendRange(m.done, native.Range{First: sequence, Count: 1})
	m.gathered()
	m.mu.Unlock()
}

// nak gathers the NAK of a message.
func (m *membership) nak(sequence uint64, why error) {
	v := nakOf(why)
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.failed); n > 0 {
		last := &m.failed[n-1]
		if last.Flags == v.Flags && last.Delay == v.Delay && last.Reason == v.Reason && len(last.Ranges) < ackSize {
			last.Ranges = native.AppendRange(last.Ranges, native.Range{First: sequence, Count: 1})
			m.gathered()
			return
		}
	}
	v.Sub, v.Ranges = m.subscription.id, native.AppendRange(nil, native.Range{First: sequence, Count: 1})
	m.failed = append(m.failed, v)
	m.gathered()
}

// gathered is called after the ACK or NAK of a message was gathered. The caller holds the lock.
func (m *membership) gathered() {
	m.held--
	if !m.flushArmed {
		m.flushArmed = true
		time.AfterFunc(ackDelay, func() {
			m.mu.Lock()
			m.flushArmed = false
			m.mu.Unlock()
			m.flush()
		})
	}
}

// flush sends the gathered ACKs and NAKs.
func (m *membership) flush() {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	m.mu.Lock()
	done, failed := m.done, m.failed
	m.done, m.failed = nil, nil
	m.mu.Unlock()
	if len(done)+len(failed) == 0 || m.ended() {
		return
	}
	m.conn.peer.Tell(func(b []byte) []byte {
		for _, v := range failed {
			b = native.AppendNak(b, v)
		}
		for part := range slices.Chunk(done, ackSize) {
			b = native.AppendAck(b, native.AckFrame{Sub: m.subscription.id, Ranges: part})
		}
		return b
	})
}

// addUnstored counts n messages that are handled, but have outputs that are not stored.
func (m *membership) addUnstored(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unstored += n; m.unstored == 0 && m.settled != nil {
		close(m.settled)
		m.settled = nil
	}
}

// awaitOutputs waits until no handled message waits for its outputs, ctx ends, or the connection is lost.
func (m *membership) awaitOutputs(ctx context.Context) {
	m.mu.Lock()
	if m.unstored == 0 {
		m.mu.Unlock()
		return
	}
	if m.settled == nil {
		m.settled = make(chan struct{})
	}
	settled := m.settled
	m.mu.Unlock()
	select {
	case <-settled:
	case <-ctx.Done():
	case <-m.conn.peer.Context().Done():
	}
}
