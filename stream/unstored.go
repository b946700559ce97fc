package stream

import (
	"context"
	"sync"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// unstored holds the messages of a Source that the node has still to receive or to store, in order:
//
//	Send ──► sent ──► settled: CREDIT has returned the bytes
//	          │ ▲
//	     lost │ │ next connection, by its credit
//	          ▼ │
//	        backlog ◄── messages on a tag that is not stored, which a lost connection did not write
//
// sent has copies of what was passed to conn on a stored tag. The credit of the tag bounds both queues. The position of a message is
// the number of bytes that the Source has kept up to the end of the message.
type unstored struct {
	mu       sync.Mutex // taken after the lock of a FrameWriter
	conn     *conn      // the connection whose CREDIT settles sent
	sent     peer.Queue
	backlog  peer.Queue
	messages int                  // number of messages in sent and backlog
	settled  uint64               // position up to which no message is kept
	credited int                  // bytes of CREDIT for the next messages of sent
	refused  peer.FIFO[refusal]   // what the node has dropped of the next messages of sent
	exempt   peer.FIFO[exemption] // messages of sent that get no CREDIT
	waiters  peer.FIFO[waiter]    // sorted by position
	advanced chan struct{}        // closed when settled grows; nil if nothing waits for it
	reason   string               // why the node does not store for now; "" if it does
}

// refusal says that messages were dropped.
type refusal struct {
	count uint32
	why   error
}

// exemption is a message that is settled as soon as all earlier ones are.
type exemption struct {
	position uint64
	why      error
	dropped  bool // the message was not sent
}

// waiter is told when the message with a position is settled.
type waiter struct {
	position uint64
	told     settler
}

// settler is told that a message is stored, or why not. settle must not block.
type settler interface{ settle(err error) }

// settlement is the work that is left when the lock of an unstored is released.
type settlement struct {
	told    []settler
	errs    []error   // one for each settler
	dropped []refusal // messages without a settler
}

// end returns the position of the newest message. The caller holds the lock.
func (u *unstored) end() uint64 { return u.settled + uint64(u.sent.Bytes()+u.backlog.Bytes()) }

// add keeps a copy of a message that was appended to the writer of conn. told may be nil.
func (u *unstored) add(frame []byte, told settler) {
	u.mu.Lock()
	u.sent.Push(frame, nil)
	u.messages++
	if told != nil {
		u.waiters.Push(waiter{u.end(), told})
	}
	u.mu.Unlock()
}

// requeue moves what cn has not settled back to the backlog. It is called after the end of cn. unsent are messages on a tag that is
// not stored, which cn has not written; nil if there are none.
func (u *unstored) requeue(cn *conn, unsent *peer.Queue) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn != cn {
		return
	}
	var all peer.Queue
	again := func(frames []byte) { all.Push(frames, nil) }
	u.sent.Clear(again)
	if unsent != nil {
		u.messages += unsent.Count()
		waiters := u.waiters.All() // for messages of the backlog, because sent is empty: the tag is not stored
		for i := range waiters {
			waiters[i].position += uint64(unsent.Bytes())
		}
		unsent.Clear(again)
	}
	u.backlog.Clear(again)
	u.backlog, u.conn, u.credited, u.reason = all, nil, 0, ""
	u.refused, u.exempt = peer.FIFO[refusal]{}, peer.FIFO[exemption]{}
}

// resend passes the backlog to the writer of g, as far as g has credit. The caller holds the lock of the writer.
func (u *unstored) resend(g *publishGrant) settlement {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.conn = g.conn
	for g.credit > 0 && u.backlog.Bytes() > 0 {
		f := firstFrame(&u.backlog)
		u.sent.Push(f, nil)
		position := u.settled + uint64(u.sent.Bytes())
		if len(f) > g.conn.maxFrame {
			u.exempt.Push(exemption{position, tooLong(g.conn, len(f)), true})
		} else {
			f.Renumber(g.id, g.conn.id)
			g.writer.Append(f)
			g.credit -= len(f)
			if !g.stored {
				u.exempt.Push(exemption{position, ErrNotStored, false})
			}
		}
		u.backlog.Cut(len(f))
	}
	return u.advance()
}

// credit settles messages for n bytes of CREDIT on cn.
func (u *unstored) credit(cn *conn, n int) settlement {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn != cn {
		return settlement{}
	}
	u.credited, u.reason = min(u.credited+n, u.sent.Bytes()), ""
	return u.advance()
}

// advance removes the messages that are settled. The caller holds the lock.
func (u *unstored) advance() (s settlement) {
	before := u.settled
	for u.sent.Bytes() > 0 {
		size := len(firstFrame(&u.sent))
		position := u.settled + uint64(size)
		var err error
		dropped := false
		switch {
		case u.exempt.Len() > 0 && u.exempt.Front().position == position:
			e := u.exempt.Pop()
			err, dropped = e.why, e.dropped
		case size > u.credited:
			return u.advancedFrom(before, s)
		default:
			u.credited -= size
			if u.refused.Len() > 0 {
				r := u.refused.Front()
				err, dropped = r.why, true
				if r.count--; r.count == 0 {
					u.refused.Pop()
				}
			}
		}
		u.sent.Cut(size)
		u.messages--
		u.settled = position
		s.add(u.popWaiters(), err, dropped)
	}
	return u.advancedFrom(before, s)
}

// popWaiters removes the waiters whose messages are settled.
func (u *unstored) popWaiters() (told []settler) {
	for u.waiters.Len() > 0 && u.waiters.Front().position <= u.settled {
		told = append(told, u.waiters.Pop().told)
	}
	return told
}

func (u *unstored) advancedFrom(before uint64, s settlement) settlement {
	if u.settled != before && u.advanced != nil {
		close(u.advanced)
		u.advanced = nil
	}
	return s
}

func (s *settlement) add(told []settler, err error, dropped bool) {
	for _, t := range told {
		s.told, s.errs = append(s.told, t), append(s.errs, err)
	}
	if !dropped || len(told) > 0 {
		return
	}
	if n := len(s.dropped); n > 0 && s.dropped[n-1].why == err { //nolint:errorlint // the same refusal, not the same kind
		s.dropped[n-1].count++
		return
	}
	s.dropped = append(s.dropped, refusal{1, err})
}

// tell tells the settlers. No lock is held.
func (s *settlement) tell() {
	for i, t := range s.told {
		t.settle(s.errs[i])
	}
}

// refuse notes that the node has dropped the next count messages of sent. Their CREDIT follows.
func (u *unstored) refuse(cn *conn, count uint32, why error) {
	u.mu.Lock()
	if u.conn == cn {
		u.refused.Push(refusal{count, why})
	}
	u.mu.Unlock()
}

// wait notes why the node does not store for now.
func (u *unstored) wait(cn *conn, reason string) {
	u.mu.Lock()
	if u.conn == cn {
		u.reason = reason
	}
	u.mu.Unlock()
}

// discard removes all messages because of why.
func (u *unstored) discard(why error) settlement {
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.backlog.Bytes() > 0 {
		f := firstFrame(&u.backlog)
		u.sent.Push(f, nil)
		u.backlog.Cut(len(f))
	}
	u.exempt, u.refused, u.credited = peer.FIFO[exemption]{}, peer.FIFO[refusal]{}, u.sent.Bytes()
	u.refused.Push(refusal{^uint32(0), why})
	s := u.advance()
	u.refused = peer.FIFO[refusal]{}
	return s
}

// await waits until all messages up to position are settled.
func (u *unstored) await(ctx context.Context, c *Client, position uint64) error {
	for {
		u.mu.Lock()
		if u.settled >= position {
			u.mu.Unlock()
			return nil
		}
		if u.advanced == nil {
			u.advanced = make(chan struct{})
		}
		advanced := u.advanced
		u.mu.Unlock()
		select {
		case <-advanced:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.ended:
			return ErrClosed
		}
	}
}

// state returns the position of the newest message, and what waits.
func (u *unstored) state() (end uint64, messages, bytes int, reason string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.end(), u.messages, u.sent.Bytes() + u.backlog.Bytes(), u.reason
}

// firstFrame returns the first frame of a queue that is not empty.
func firstFrame(q *peer.Queue) native.Frame {
	b := q.Front().Frames
	return native.Frame(b[:native.Size(b)])
}
