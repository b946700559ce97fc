package loop

import "errors"

// Write queues a copy of p, which leaves at the end of the turn together with all else that is written to c until then. The
// queue has no bound of its own: who passes on bytes looks at Full.
func (c *Conn) Write(p []byte) {
	if c.is(dead | closing | shutting) {
		return
	}
	c.queued += len(p)
	for len(p) > 0 {
		if c.tail == nil {
			c.tail = c.loop.free.get(len(p) > smallChunk)
			c.head = c.tail
		} else if len(c.tail.b) == cap(c.tail.b) {
			c.tail.next = c.loop.free.get(true)
			c.tail = c.tail.next
		}
		n := min(len(p), cap(c.tail.b)-len(c.tail.b))
		c.tail.b = append(c.tail.b, p[:n]...)
		p = p[n:]
	}
	if c.queued >= c.loop.cfg.HighWater {
		c.state |= full
	}
	c.loop.flushLater(c)
}

// Queued is how many bytes wait to be written.
func (c *Conn) Queued() int { return c.queued }

// Unsent is how many bytes the peer has not acknowledged: those that are queued, and those that the system holds, where it
// says how many. It asks the system, so it is for timers: a peer that reads slowly lowers Unsent long before Queued.
func (c *Conn) Unsent() int {
	if c.is(connecting) || c.loop.conn(c.id) != c {
		return c.queued
	}
	return c.queued + c.loop.sys.unsent(c.id)
}

// MoveQueue moves what is queued to another connection of the same loop and reports true, if that is n bytes and the system
// has been given none of them: then the peer cannot have read them. Otherwise it moves nothing. It works within Closed too.
func (c *Conn) MoveQueue(to *Conn, n int) bool {
	if c.queued != n || c.is(blocked) || to.is(dead|closing|shutting) {
		return false
	}
	for ch := c.head; ch != nil; ch = ch.next {
		to.Write(ch.b[ch.off:])
	}
	c.loop.dropQueue(c)
	return true
}

// Full reports whether the queue has reached Config.HighWater and not yet shrunk to LowWater. Who passes on bytes pauses
// reading where they come from, until Drained.
func (c *Conn) Full() bool { return c.is(full) }

// flush writes what is queued, as far as the socket takes it and c has its share of the turn.
func (l *Loop) flush(c *Conn) {
	if c.is(connecting | dead | blocked) {
		return
	}
	for left := l.cfg.TurnBytes; c.head != nil; {
		if left <= 0 {
			l.flushLater(c)
			break
		}
		n, err := l.sys.write(c.id, c.head)
		l.stats.Writes++
		if errors.Is(err, errAgain) {
			c.state |= blocked
			l.watchWrite(c, true)
			break
		}
		if err != nil {
			l.broken(c, err)
			return
		}
		l.stats.BytesOut += int64(n)
		left -= n
		l.written(c, n)
	}
	if c.head == nil {
		l.flushed(c)
	}
	if c.is(full) && c.queued <= l.cfg.LowWater && !c.is(dead) {
		c.state &^= full
		if !c.is(closing) {
			c.handler.Drained(c)
		}
	}
}

// written takes n bytes from the front of the queue.
func (l *Loop) written(c *Conn, n int) {
	c.queued -= n
	for n > 0 {
		ch := c.head
		k := min(n, len(ch.b)-ch.off)
		ch.off += k
		n -= k
		if ch.off == len(ch.b) {
			c.head = ch.next
			l.free.put(ch)
		}
	}
	if c.head == nil {
		c.tail = nil
	}
}

// flushed is when the queue is empty.
func (l *Loop) flushed(c *Conn) {
	l.watchWrite(c, false)
	switch {
	case c.is(dead):
	case c.is(closing):
		c.kill(nil)
	case c.is(shutting) && !c.is(shut):
		c.state |= shut
		if err := l.sys.closeWrite(c.id); err != nil {
			c.fail("shutdown", err)
		} else if c.is(ended) {
			c.kill(nil)
		}
	}
}

// watchWrite sets whether an event is to tell that c can be written to.
func (l *Loop) watchWrite(c *Conn, on bool) {
	if c.is(watched) == on || c.is(dead) {
		return
	}
	c.state ^= watched
	if err := l.sys.wantWrite(c.id, c.gen, on); err != nil {
		c.fail("watch", err)
	}
}

// broken is a write that failed. The peer may have answered before it went away: its last words are still delivered.
func (l *Loop) broken(c *Conn, err error) {
	c.state |= readable | hungUp
	l.serve(c)
	c.fail("write", err)
}

func (l *Loop) dropQueue(c *Conn) {
	for c.head != nil {
		next := c.head.next
		l.free.put(c.head)
		c.head = next
	}
	c.tail, c.queued = nil, 0
}
