package tlslayer

import (
	"encoding/binary"

	"example.com/ferry/internal/bufpool"
)

// sharedSize is the size in bytes of a readBuffer: at least one record, and in most cases all that one read returns.
const sharedSize = 64 << 10

// readBuffer is the buffer into which the layers of one loop read from their sockets. At any time it holds the bytes of at
// most one layer. When another layer reads, the bytes that the first has not consumed move to a buffer of its own (kept). In
// most cases there are none, because a layer is read until its socket is empty. So idle connections have no read buffer.
type readBuffer struct {
	owner *Layer
	b     []byte
	r, w  int // b[r:w] are the bytes of owner

	record []byte // lent to the tls.Conn that reads a record; nil if it is lent, or not made yet
}

// enter makes t the owner and returns the free part of the buffer.
func (s *readBuffer) enter(t *Layer) []byte {
	if s.b == nil {
		s.b = make([]byte, sharedSize)
	}
	if s.owner != t {
		if s.r < s.w {
			s.owner.keep(s.b[s.r:s.w])
		}
		s.owner, s.r, s.w = t, 0, 0
	}
	if s.r > 0 {
		s.w = copy(s.b, s.b[s.r:s.w])
		s.r = 0
	}
	return s.b[s.w:]
}

// leave ends the ownership of t.
func (s *readBuffer) leave(t *Layer) {
	if s.owner == t {
		s.owner, s.r, s.w = nil, 0, 0
	}
}

// keep moves bytes into t's own buffer.
func (t *Layer) keep(p []byte) {
	t.kept = bufpool.Get(len(p) + 1)
	t.kept.B = append(t.kept.B, p...)
	t.keptOff = 0
	t.account()
}

// account tells the loop how much memory t has for bytes that Read has not returned, so that the loop is crowded before many
// clients that send incomplete records take too much together.
func (t *Layer) account() {
	n := 0
	if t.kept != nil {
		n = cap(t.kept.B)
	}
	if t.plain {
		n += recordBuffer
	}
	t.loop.Hold(n - int(t.held))
	t.held = int32(n) // at most two records
}

// readSocket reads at most limit more of the peer's bytes. They are appended to pending.
func (t *Layer) readSocket(limit int) (int, error) {
	if t.kept == nil {
		free := t.shared.enter(t)
		n, err := t.socket.Read(free[:min(len(free), limit)])
		t.shared.w += n
		return n, err
	}
	b := t.kept
	if t.keptOff > 0 {
		b.B = b.B[:copy(b.B, b.B[t.keptOff:])]
		t.keptOff = 0
	}
	if len(b.B) == cap(b.B) { // it grows with the bytes that arrive, whatever length the record's head says
		larger := bufpool.Get(2 * cap(b.B))
		larger.B = append(larger.B, b.B...)
		b.Release()
		t.kept, b = larger, larger
		t.account()
	}
	n, err := t.socket.Read(b.B[len(b.B):min(cap(b.B), len(b.B)+limit)])
	b.B = b.B[:len(b.B)+n]
	return n, err
}

// pending returns the received bytes that are not consumed. The slice is valid until readSocket or consume is called.
func (t *Layer) pending() []byte {
	switch {
	case t.kept != nil:
		return t.kept.B[t.keptOff:]
	case t.shared.owner == t:
		return t.shared.b[t.shared.r:t.shared.w]
	}
	return nil
}

// consume removes n bytes from the front of pending.
func (t *Layer) consume(n int) {
	switch {
	case n == 0:
	case t.kept == nil:
		t.shared.r += n
	case t.keptOff+n < len(t.kept.B):
		t.keptOff += n
	default:
		t.kept.Release()
		t.kept, t.keptOff = nil, 0
		t.account()
	}
}

// recordLen returns how many bytes the record at the front of pending has, its head included. It returns 0 if the head has
// not arrived.
func (t *Layer) recordLen() int { return recordLen(t.pending()) }

func recordLen(p []byte) int {
	if len(p) < recordHead {
		return 0
	}
	return recordHead + int(binary.BigEndian.Uint16(p[3:]))
}

// recordArrived reports whether conn can read a complete record. A record that is too long counts as complete: conn refuses
// it by its head.
func (t *Layer) recordArrived() bool {
	n := t.recordLen()
	return n > 0 && (len(t.pending()) >= n || n > recordHead+maxCiphertext)
}

// readRecord is wire.Read after the handshake. It returns bytes of one record at most, so conn holds no undecrypted bytes
// between two reads.
func (t *Layer) readRecord(p []byte) (int, error) {
	if t.recordLeft == 0 {
		if !t.recordArrived() {
			return 0, errWouldBlock
		}
		t.recordLeft = t.recordLen()
	}
	n := copy(p[:min(len(p), t.recordLeft)], t.pending())
	t.recordLeft -= n
	t.consume(n)
	return n, nil
}
