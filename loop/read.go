package loop

import (
	"errors"
	"fmt"
	"io"

	"example.com/ferry/internal/bufpool"
)

const leastRead = 4 << 10 // bytes of room behind what is unread

// serve hands what c has received to its handler, until the socket is empty or c has had its share of the turn.
func (l *Loop) serve(c *Conn) {
	if c.is(resumed) && !c.is(connecting|paused|closing|dead) {
		c.state &^= resumed
		if c.unread != nil {
			l.deliver(c, c.unread.B)
		}
	}
	for left := l.cfg.TurnBytes; c.is(readable) && c.wantsData(); {
		if c.is(resumed) {
			return // what was left comes before what follows it, and that in the next turn
		}
		if left <= 0 {
			l.again(c)
			return
		}
		room := l.buf
		if c.unread != nil {
			room = l.extend(c)
		}
		n, err := l.sys.read(c.id, room)
		l.stats.Reads++
		switch {
		case errors.Is(err, errAgain):
			c.state &^= readable
			return
		case errors.Is(err, io.EOF):
			l.end(c)
			return
		case err != nil:
			c.fail("read", err)
			return
		}
		l.stats.BytesIn += int64(n)
		left -= n
		if n < len(room) && !c.is(hungUp) {
			c.state &^= readable
		}
		if c.unread == nil {
			l.deliver(c, room[:n])
			poison(room[:n])
			continue
		}
		c.unread.B = c.unread.B[:len(c.unread.B)+n]
		l.deliver(c, c.unread.B)
	}
}

// wantsData reports whether c is to be read.
func (c *Conn) wantsData() bool { return !c.is(connecting | paused | ended | closing | dead) }

// extend returns the room behind what is unread, moved to a larger buffer if there is little.
func (l *Loop) extend(c *Conn) []byte {
	b := c.unread.B
	if cap(b)-len(b) < leastRead {
		larger := bufpool.Get(max(2*cap(b), len(b)+leastRead))
		larger.B = append(larger.B, b...)
		c.unread.Release()
		c.unread, b = larger, larger.B
	}
	return b[len(b):min(cap(b), len(b)+l.cfg.ReadBuffer)]
}

// deliver lends p to the handler and keeps what it leaves. p is the loop's own buffer, or all that is unread.
func (l *Loop) deliver(c *Conn, p []byte) {
	n := c.handler.Data(c, p)
	if n < 0 || n > len(p) {
		panic(fmt.Sprintf("loop: Data of %T took %d bytes of %d", c.handler, n, len(p)))
	}
	rest := p[n:]
	switch {
	case len(rest) == 0:
		l.dropUnread(c)
	case len(rest) > l.cfg.MaxUnread && !c.is(paused|closing):
		c.fail("read", fmt.Errorf("handler leaves %d bytes unread: at most Config.MaxUnread, %d, are kept", len(rest), l.cfg.MaxUnread))
	case c.unread == nil:
		c.unread = bufpool.Get(max(len(rest), leastRead))
		c.unread.B = append(c.unread.B, rest...)
		l.stats.Unread++
	case n > 0:
		c.unread.B = p[:copy(p, rest)]
	}
}

func (l *Loop) dropUnread(c *Conn) {
	if c.unread != nil {
		c.unread.Release()
		c.unread = nil
		l.stats.Unread--
	}
}

// afterEnd sees whether a connection that waits for this side's end has been reset meanwhile.
func (l *Loop) afterEnd(c *Conn) {
	if err := l.sys.failed(c.id); err != nil {
		c.fail("read", err)
	}
}

// end is the end of the peer's bytes.
func (l *Loop) end(c *Conn) {
	c.state = c.state&^readable | ended
	c.handler.HalfClosed(c)
	if c.is(shut) {
		c.kill(nil)
	}
}
