package loop

import (
	"errors"
	"iter"

	"example.com/ferry/internal/bufpool"
)

// Write queues a copy of p. All bytes written to c in one turn leave with one system call at its end. The queue is not
// bounded: code that forwards bytes checks Full.
func (c *Conn) Write(p []byte) {
	if c.is(dead | closing | writeClosing) {
		return
	}
	first := smallChunk
	if c.is(connecting) {
		first = tinyChunk
	}
	c.queue.append(&c.loop.free, p, first)
	c.queueGrew()
	c.loop.flushLater(c)
}

// WriteShared queues p, which lies in the memory of b, without a copy, and retains b until p is written. The bytes of p must
// not change until then. A short p is copied instead.
func (c *Conn) WriteShared(b *bufpool.Buf, p []byte) {
	if len(p) < leastShare {
		c.Write(p)
		return
	}
	if c.is(dead | closing | writeClosing) {
		return
	}
	c.queue.appendShared(&c.loop.free, b, p)
	c.queueGrew()
	c.loop.flushLater(c)
}

// leastNow is the length of the shortest piece, in bytes, that WriteNow writes at once. Shorter ones leave together.
const leastNow = 8 << 10

// passShare divides Config.HighWater for bytes of WriteNow that a blocked socket leaves in the queue.
const passShare = 16

// WriteNow is Write for a piece of a large body. It writes the queue and p at once, so p is copied to the queue only if the
// socket does not accept all of it. Full is then true at a sixteenth of Config.HighWater: code that forwards bytes has the next
// piece read when this one is written, and into the same memory. It writes a short p, and bytes for a layer, like Write.
func (c *Conn) WriteNow(p []byte) {
	if len(p) >= leastNow && c.layered == nil && !c.is(connecting|blocked|dead|closing|writeClosing) {
		p = c.loop.writeNow(c, p)
	}
	if len(p) > 0 {
		c.Write(p)
	}
	c.limitPassed()
}

// limitPassed notes that bytes wait for a blocked socket that others are passed on to.
func (c *Conn) limitPassed() {
	if c.is(blocked) && c.Queued() >= c.loop.cfg.HighWater/passShare {
		c.state |= full | passing
	}
}

// writeNow writes the queue of c and then p, which may be empty, until the socket accepts no more. It returns what is left of p. An error
// is left to flush, which finds it again: no handler is called here.
func (l *Loop) writeNow(c *Conn, p []byte) (rest []byte) {
	queue := &c.queue
	for queue.head != nil || len(p) > 0 {
		n, err := l.sys.write(c.id, queue.lend(&l.lent, p))
		queue.endLoan(&l.lent)
		l.stats.Writes++
		if errors.Is(err, ErrAgain) {
			c.state |= blocked | writeBegun
			l.watchWrite(c, true)
		}
		if err != nil {
			return p
		}
		l.stats.BytesOut += int64(n)
		queued := min(n, queue.size)
		queue.consume(&l.free, queued)
		p = p[n-queued:]
		if len(p) > 0 || queue.head != nil {
			c.state |= writeBegun
		}
	}
	return nil
}

// LimitQueue divides Config.HighWater and LowWater by 4 for c. It is for a connection that carries several streams: bytes
// that must not wait behind a body then find a short queue.
func (c *Conn) LimitQueue() { c.state |= shortQueue }

// queueGrew notes that the queue has reached its high watermark.
func (c *Conn) queueGrew() {
	if n := c.Queued(); n >= c.mark(c.loop.cfg.HighWater) || n >= crowdedQueue && c.loop.crowded() {
		c.state |= full
	}
}

// mark returns the watermark of c for a watermark of the Config.
func (c *Conn) mark(configured int) int {
	if c.is(shortQueue) {
		return configured / 4
	}
	return configured
}

// lowMark returns the length of the queue at which c is no longer full.
func (c *Conn) lowMark() int {
	low := c.mark(c.loop.cfg.LowWater)
	if c.is(passing) && c.is(blocked) {
		low = min(low, c.loop.cfg.HighWater/passShare/2)
	}
	if c.loop.crowded() {
		return min(low, crowdedQueue/4)
	}
	return low
}

// Queued returns how many bytes wait to be written, before and after the layer.
func (c *Conn) Queued() int {
	if c.layered != nil {
		return c.queue.size + c.layered.out.size
	}
	return c.queue.size
}

// Blocked reports whether the system accepts no more bytes to send: the queue waits for the peer to read.
func (c *Conn) Blocked() bool { return c.is(blocked) }

// Unsent returns how many bytes the peer has not acknowledged: the queued bytes, and the bytes that the system holds, if it
// reports them. Each call asks the system, so use it in timers. If a peer reads slowly, Unsent falls long before Queued.
func (c *Conn) Unsent() int {
	if c.is(connecting) || c.loop.conn(c.id) != c {
		return c.Queued()
	}
	return c.Queued() + c.loop.sys.unsent(c.id)
}

// MoveQueue moves the write queue to another connection of the same loop and returns true. It does so only if the queue is
// exactly n bytes and none of them was passed to the layer or the system, so the peer cannot have read them. Otherwise it
// moves nothing and returns false. It may be called within Closed.
func (c *Conn) MoveQueue(to *Conn, n int) bool {
	if c.queue.size != n || c.is(writeBegun) || to.is(dead|closing|writeClosing) {
		return false
	}
	for first := c.queue.head; first != nil; first = first.next {
		to.Write(first.b[first.off:])
	}
	c.queue.drop(&c.loop.free)
	return true
}

// Queue calls yield for each piece of the write queue, first to last: the bytes that were not passed to the layer or the system. A piece is
// valid until the next call of a method of c.
func (c *Conn) Queue() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for piece := c.queue.head; piece != nil; piece = piece.next {
			if !yield(piece.b[piece.off:]) {
				return
			}
		}
	}
}

// DropQueue drops the queue of a connection that is being opened and returns true. So another request can use the connection.
// Once the connection is open it drops nothing and returns false, because the peer may have read a part of the queue.
func (c *Conn) DropQueue() bool {
	if !c.is(connecting|handshaking) || c.is(writeBegun|dead|closing|writeClosing) {
		return false
	}
	c.queue.drop(&c.loop.free)
	c.state &^= full
	return true
}

// Full reports whether the queue has reached Config.HighWater and has not shrunk to LowWater since. Code that forwards bytes
// to c pauses reading their source until Drained. LimitQueue changes both watermarks.
func (c *Conn) Full() bool { return c.is(full) }

// flush writes the queue until the socket accepts no more, or c has used its share of the turn.
func (l *Loop) flush(c *Conn) {
	if c.is(connecting | dead | blocked) {
		return
	}
	queue := &c.queue
	if c.layered != nil {
		c.layered.seal()
		queue = &c.layered.out
	}
	for left := l.cfg.TurnBytes; queue.head != nil; {
		if left <= 0 {
			l.flushLater(c)
			break
		}
		n, err := l.sys.write(c.id, queue.head)
		l.stats.Writes++
		if errors.Is(err, ErrAgain) {
			c.state |= blocked | writeBegun
			l.watchWrite(c, true)
			break
		}
		if err != nil {
			l.writeFailed(c, err)
			return
		}
		l.stats.BytesOut += int64(n)
		left -= n
		queue.consume(&l.free, n)
	}
	if queue.head == nil {
		c.state &^= writeBegun | passing
		l.flushed(c)
	}
	if c.is(full) && c.Queued() <= c.lowMark() && !c.is(dead) {
		c.state &^= full
		if !c.is(closing) {
			c.handler.Drained(c)
		}
	}
}

// flushed is called when the socket has accepted all bytes. It ends the connection or its sending side, if that was requested.
func (l *Loop) flushed(c *Conn) {
	l.watchWrite(c, false)
	switch {
	case c.is(dead):
	case c.layered != nil && !c.layered.sealed():
		c.layered.sealLater()
	case c.is(closing):
		c.end(c.layerError(), false)
	case c.is(writeClosing) && !c.is(writeClosed):
		c.state |= writeClosed
		if err := l.sys.closeWrite(c.id); err != nil {
			c.fail("shutdown", err)
		} else if c.is(peerEnded) {
			c.end(nil, false)
		}
	}
}

// watchWrite sets whether an event reports that the socket accepts bytes.
func (l *Loop) watchWrite(c *Conn, on bool) {
	if c.is(writeWatched) == on || c.is(dead) {
		return
	}
	c.state ^= writeWatched
	if err := l.sys.wantWrite(c.id, c.gen, on); err != nil {
		c.fail("watch", err)
	}
}

// writeFailed resets the connection. Bytes that the peer sent before are delivered first.
func (l *Loop) writeFailed(c *Conn, err error) {
	c.state |= hungUp
	c.markReadable()
	l.serve(c)
	if layerErr := c.layerError(); layerErr != nil {
		c.end(layerErr, true)
		return
	}
	c.fail("write", err)
}

func (l *Loop) dropQueues(c *Conn) {
	c.queue.drop(&l.free)
	if c.layered != nil {
		c.layered.out.drop(&l.free)
	}
}
