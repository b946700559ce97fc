package stream

import (
	"errors"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// storedInbox is what an inbox has beside its messages if they come from a stream. Such an inbox lasts as long as its subscription,
// so that the calls for one key never overlap, even if the connection was lost in between.
type storedInbox struct {
	member *membership // the connection of the newest message; guarded by the inbox's lock
	stale  int         // bytes at the front of the inbox that an earlier connection has delivered; guarded by the inbox's lock

	// Used by the worker that handles the inbox.
	refusing *refusedKeys
	of       *membership // the membership that refusing belongs to
}

// origin says where the messages come from that a worker takes from an inbox.
type origin struct {
	member *membership // nil unless they come from a stream
	stale  int         // the first bytes get no credit: another connection has delivered them
}

// cut returns the origin of the first n bytes of the inbox. The caller holds the inbox's lock.
func (s *storedInbox) cut(n int) origin {
	o := origin{s.member, min(n, s.stale)}
	s.stale -= o.stale
	return o
}

// pushStored adds messages that m has delivered. What an earlier connection has delivered to a durable is dropped, because the node
// delivers it again.
func (in *inbox) pushStored(m *membership, frames []byte, shared *bufpool.Buf) {
	in.mu.Lock()
	if in.stored.member != m {
		if m.durable() {
			in.frames.Clear(func([]byte) {})
		}
		in.stored.member, in.stored.stale = m, in.frames.Bytes()
	}
	in.frames.Push(frames, shared)
	submit := !in.active
	in.active = true
	in.mu.Unlock()
	if submit {
		in.pool.submit(in)
	}
}

// storedMessage returns the message of a frame from a stream. The receiver has checked the frame.
func (in *inbox) storedMessage(f native.Frame, buf *bufpool.Buf) ferry.Message {
	s, _ := native.ParseStored(f)
	if string(s.Tag) != in.tag {
		in.tag = string(s.Tag)
	}
	m := ferry.Message{
		Tag: in.tag, Type: f.Type(), Payload: f.Payload(), Time: f.Time(), Source: f.Source(),
		Key: s.Key, ID: string(s.ID), Sequence: s.Sequence, Deliveries: s.Deliveries,
	}
	return m.Borrowed(buf)
}

// errInterrupted is the reason of the NAK for a message whose handler ended with an error because the function was stopped.
var errInterrupted = errors.New("the function was stopped while it handled the message")

// storedTurn is what a worker does with the messages that it has taken from an inbox at once.
type storedTurn struct {
	*worker
	pool     *pool
	in       *inbox
	member   *membership
	stale    int
	messages uint64 // handled since the last report
	bytes    int    // of messages that were handled or refused since the last report
}

func (w *worker) newStoredTurn(p *pool, in *inbox, o origin) storedTurn {
	if in.stored.of != o.member {
		in.stored.of, in.stored.refusing = o.member, &refusedKeys{within: uint64(o.member.credit.window + o.member.conn.maxFrame + native.StoredOverhead)}
	}
	return storedTurn{worker: w, pool: p, in: in, member: o.member, stale: o.stale}
}

// goesOn reports whether the worker handles further messages. Without it, the node delivers them again.
func (t *storedTurn) goesOn() bool {
	return t.pool.ctx.Err() == nil && (!t.member.durable() || !t.member.ended())
}

// report sends ACKs and NAKs, and returns credit. The credit comes last, because refusedKeys counts on it.
func (t *storedTurn) report() {
	t.pool.client.stats.handled.Add(t.messages)
	t.member.flush()
	t.member.credit.add(max(0, t.bytes-t.stale))
	t.stale = max(0, t.stale-t.bytes)
	t.messages, t.bytes = 0, 0
}

// refused reports whether m must wait because an earlier message with its key has failed. Then it is returned to the node.
func (t *storedTurn) refused(m *ferry.Message, size int) bool {
	if !t.member.durable() || !t.in.stored.refusing.refuses(m, size) {
		return false
	}
	t.member.nak(m.Sequence, ferry.ErrNotTried)
	return true
}

// failed returns a message to the node.
func (t *storedTurn) failed(m *ferry.Message, why error) {
	if t.pool.ctx.Err() != nil {
		why = Retry(errInterrupted, time.Millisecond)
	}
	key := orderKey(m)
	t.in.stored.refusing.add(key, m.Sequence)
	t.member.nak(m.Sequence, why)
	t.in.stored.refusing.sent(key) // report sends it before it returns credit
}

func (w *worker) handleStored(p *pool, in *inbox, piece peer.Piece, o origin) {
	t := w.newStoredTurn(p, in, o)
	for b := piece.Frames; len(b) > 0 && t.goesOn(); {
		n := native.Size(b)
		frame := b[:n:n]
		w.msg = in.storedMessage(frame, piece.Buf)
		b = b[n:]
		if !t.refused(&w.msg, n) {
			t.messages++
			t.callOne(frame)
		}
		if t.bytes += n; t.bytes >= p.window/8 {
			t.report()
		}
	}
	t.report()
}

// callOne calls the handler with w.msg, the message of frame.
func (t *storedTurn) callOne(frame []byte) {
	w, p := t.worker, t.pool
	if !t.member.durable() {
		_ = w.call(p, t.in, func() error { return p.handler.Handle(p.ctx, &w.msg, w.output(p, frame)) }) // counted and logged
		return
	}
	message := [1]ferry.Message{w.msg} // the handler may change w.msg
	w.handling = w.handling.begin(p.client, t.member, t.in.stored.refusing, functionsOf(frame))
	if err := w.call(p, t.in, func() error { return p.handler.Handle(p.ctx, &w.msg, w.handling) }); err != nil {
		w.handling.end(nil)
		t.failed(&message[0], err)
		return
	}
	w.handling.end(message[:])
}

func (w *worker) handleStoredBatch(p *pool, in *inbox, piece peer.Piece, o origin) {
	t := w.newStoredTurn(p, in, o)
	w.msgs = w.msgs[:0]
	for b := piece.Frames; len(b) > 0 && t.goesOn(); b = b[native.Size(b):] {
		n := native.Size(b)
		m := in.storedMessage(native.Frame(b[:n:n]), piece.Buf)
		if !t.refused(&m, n) {
			w.msgs = append(w.msgs, m)
		}
	}
	t.bytes = len(piece.Frames)
	if len(w.msgs) > 0 && t.goesOn() {
		t.messages = uint64(len(w.msgs))
		t.callBatch(piece.Frames)
	}
	t.report()
	clear(w.msgs)
}

// callBatch calls the handler with w.msgs, which are messages of frames.
func (t *storedTurn) callBatch(frames []byte) {
	w, p := t.worker, t.pool
	if !t.member.durable() {
		_ = w.call(p, t.in, func() error { return p.batch.HandleBatch(p.ctx, w.msgs, w.output(p, frames)) }) // counted and logged
		return
	}
	given := w.msgs // the handler gets a slice of its own
	w.handling = w.handling.begin(p.client, t.member, t.in.stored.refusing, functionsOf(frames))
	err := w.call(p, t.in, func() error { return p.batch.HandleBatch(p.ctx, append([]ferry.Message(nil), given...), w.handling) })
	var each ferry.BatchError
	if err != nil && !errors.As(err, &each) {
		w.handling.end(nil)
		for i := range given {
			t.failed(&given[i], err)
		}
		return
	}
	done := make([]ferry.Message, 0, len(given))
	for i := range given {
		if why := each[i]; why != nil {
			t.failed(&given[i], why)
		} else {
			done = append(done, given[i])
		}
	}
	w.handling.end(done)
}
