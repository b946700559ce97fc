package loop

import (
	"errors"
	"fmt"
	"io"

	"example.com/ferry/internal/bufpool"
)

const minReadRoom = 4 << 10 // least room, in bytes, for a read that appends to the unread bytes

// serve delivers the received bytes of c to its handler, until no more are there or c has used its share of the turn.
func (l *Loop) serve(c *Conn) {
	if c.layered != nil && !c.layered.prepare() {
		return
	}
	if c.is(resumed) && !c.is(connecting|paused|closing|dead) {
		c.state &^= resumed
		if c.unread != nil {
			l.deliver(c, c.unread.B)
		}
	}
	for left := l.cfg.TurnBytes; c.is(readable) && c.wantsData(); {
		if c.is(resumed) {
			return // the next turn delivers the unread bytes before newer ones
		}
		if left <= 0 {
			l.readLater(c)
			return
		}
		if to, most := l.spliceTarget(c); to != nil {
			n, err := l.splice(c, to, most, left)
			if err == nil {
				left -= n
				c.handler.(Splicer).Spliced(c, n)
				continue
			}
			if !errors.Is(err, errNoSplice) {
				l.readFailed(c, err)
				return
			}
		}
		room := l.readBuf[:l.readLimit()]
		if c.unread != nil {
			room = l.extend(c)
		}
		var n int
		var err error
		if c.layered != nil {
			n, err = c.layered.read(room)
		} else {
			n, err = l.sys.read(c.id, room)
			l.stats.Reads++
			l.stats.BytesIn += int64(n)
			if n < len(room) && !c.is(hungUp) || err != nil {
				c.state &^= readable
			}
		}
		if err != nil {
			l.readFailed(c, err)
			return
		}
		left -= n
		if c.unread == nil {
			l.deliver(c, room[:n])
			poison(room[:n])
			continue
		}
		c.unread.B = c.unread.B[:len(c.unread.B)+n]
		l.deliver(c, c.unread.B)
	}
}

// readFailed handles the error of a read.
func (l *Loop) readFailed(c *Conn, err error) {
	switch {
	case errors.Is(err, ErrAgain):
	case errors.Is(err, io.EOF):
		l.peerEnded(c)
	case c.layered != nil:
		c.layered.fail("read", err)
	default:
		c.fail("read", err)
	}
}

// wantsData reports whether c may be read now.
func (c *Conn) wantsData() bool { return !c.is(connecting | paused | peerEnded | closing | dead) }

// markReadable notes that a read may find bytes or the end.
func (c *Conn) markReadable() {
	c.state |= readable
	if c.layered != nil {
		c.layered.readable = true
	}
}

// extend returns room after the unread bytes. If there is little, it moves them to a larger buffer.
func (l *Loop) extend(c *Conn) []byte {
	b := c.unread.B
	if cap(b)-len(b) < minReadRoom {
		larger := bufpool.Get(max(2*cap(b), len(b)+minReadRoom))
		larger.B = append(larger.B, b...)
		l.unreadBytes += cap(larger.B) - cap(b)
		c.unread.Release()
		c.unread, b = larger, larger.B
	}
	return b[len(b):min(cap(b), len(b)+l.readLimit())]
}

// deliver lends p to the handler and stores the bytes that the handler leaves unread. p is part of the loop's read buffer, or
// all unread bytes.
func (l *Loop) deliver(c *Conn, p []byte) {
	n := c.handler.Data(c, p)
	if n < 0 || n > len(p) {
		panic(fmt.Sprintf("loop: Data of %T took %d bytes of %d", c.handler, n, len(p)))
	}
	rest := p[n:]
	switch {
	case len(rest) == 0:
		l.dropUnread(c)
	case len(rest) > c.unreadLimit() && !c.is(paused|closing):
		if len(rest) <= l.cfg.MaxUnread {
			l.stats.Crowded++
		}
		c.fail("read", fmt.Errorf("handler leaves %d bytes unread: at most Config.MaxUnread, %d, are kept, and less while the loop is crowded", len(rest), l.cfg.MaxUnread))
	case c.unread == nil:
		c.unread = bufpool.Get(max(len(rest), minReadRoom))
		c.unread.B = append(c.unread.B, rest...)
		l.unreadBytes += cap(c.unread.B)
		l.stats.Unread++
	case n > 0:
		c.unread.B = p[:copy(p, rest)]
	}
}

func (l *Loop) dropUnread(c *Conn) {
	if c.unread != nil {
		l.unreadBytes -= cap(c.unread.B)
		c.unread.Release()
		c.unread = nil
		l.stats.Unread--
	}
}

// checkReset ends a connection if the peer has ended its side and has reset the connection since.
func (l *Loop) checkReset(c *Conn) {
	if err := l.sys.failed(c.id); err != nil {
		c.fail("read", err)
	}
}

// peerEnded handles the end of the peer's bytes.
func (l *Loop) peerEnded(c *Conn) {
	c.state = c.state&^readable | peerEnded
	c.handler.HalfClosed(c)
	if c.is(writeClosed) {
		c.end(nil, false)
	}
}
