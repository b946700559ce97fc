package loop

import (
	"fmt"
	"net"
	"os"

	"example.com/ferry/internal/bufpool"
)

// Conn is one connection, and belongs to one loop: its methods are for that loop's handlers and posted functions only. None
// of them waits, and none calls a handler: what follows from a call happens later in the turn, or in the next. On a
// connection that is closed they do nothing, so it does no harm to keep a Conn for too long.
type Conn struct {
	loop    *Loop
	handler Handler
	unread  *bufpool.Buf // what Data has not taken; nil while there is none
	head    *chunk       // the queue of what is to be written; nil while there is none
	tail    *chunk
	cause   *failure
	timers  connTimers
	queued  int // bytes
	id      int32
	gen     uint32
	state   state
	unsent  uint32 // Unsent when the time to close was last begun; 0 before the first time is over
}

// failure is why a connection ends, if not in order.
type failure struct {
	err   error
	reset bool
}

type state uint16

const (
	connecting state = 1 << iota // dialled, and not yet connected
	readable                     // the socket may hold bytes: it tells only once
	hungUp                       // the peer has ended its side: read until that shows
	paused                       // by PauseReading
	resumed                      // by ResumeReading: unread bytes come again
	ended                        // HalfClosed was called
	shutting                     // CloseWrite was called
	shut                         // and done
	closing                      // Close was called
	dead                         // waits for its Closed, or has had it
	full                         // the queue has reached HighWater, and not LowWater since
	blocked                      // the socket takes no more; an event will follow
	watched                      // such an event was asked for
	accepted                     // not dialled
	inReady                      // waits to be read
	inDirty                      // waits to be flushed
)

func (c *Conn) is(s state) bool { return c.state&s != 0 }

// Loop returns the loop that drives c. Connections that work together belong on one.
func (c *Conn) Loop() *Loop { return c.loop }

// SetHandler has another handler called from now on, as after an upgrade. Bytes that are unread go to it.
func (c *Conn) SetHandler(h Handler) { c.handler = h }

// LocalAddr asks the system for the address at this end. It is nil if that is not known, as after Closed.
func (c *Conn) LocalAddr() net.Addr {
	if c.loop.conn(c.id) != c {
		return nil
	}
	local, _ := c.loop.sys.addrs(c.id)
	return local
}

// RemoteAddr asks the system for the peer's address. It is nil if that is not known, as after Closed.
func (c *Conn) RemoteAddr() net.Addr {
	if c.loop.conn(c.id) != c {
		return nil
	}
	_, remote := c.loop.sys.addrs(c.id)
	return remote
}

// PauseReading has Data and HalfClosed not called until ResumeReading: the peer's bytes wait in the kernel, and when that
// is full the peer waits too.
func (c *Conn) PauseReading() { c.state |= paused }

// ResumeReading ends a pause. Bytes that Data left come again.
func (c *Conn) ResumeReading() {
	if !c.is(paused) || c.is(dead) {
		return
	}
	c.state = c.state&^paused | resumed
	c.loop.again(c)
}

// Unread returns the bytes Data has left. They are valid until it is called again, or Closed returns.
func (c *Conn) Unread() []byte {
	if c.unread == nil {
		return nil
	}
	return c.unread.B
}

// CloseWrite ends this side when all that is queued is written; the peer's bytes still come. What is written afterwards is
// dropped.
func (c *Conn) CloseWrite() {
	if !c.is(dead | closing | shutting) {
		c.state |= shutting
		c.loop.flushLater(c)
	}
}

// Readable reports whether the socket may hold more than was read: bytes, or the peer's end. It is exact within Data.
func (c *Conn) Readable() bool { return c.is(readable | hungUp) }

// Close ends the connection when all that is queued is written. A peer that takes no byte within Config.CloseTimeout is reset.
// Data is not called any more; a
// peer that goes on sending may be reset before it has read all, so who expects that calls CloseWrite and waits for
// HalfClosed instead.
func (c *Conn) Close() {
	if c.is(dead | closing) {
		return
	}
	c.state |= closing
	if c.is(connecting) {
		c.kill(nil)
		return
	}
	c.setTimer(internalTimer, c.loop.cfg.CloseTimeout)
	c.loop.flushLater(c)
}

// Abort drops what is queued and resets the connection: the peer sees an error. Closed gets cause.
func (c *Conn) Abort(cause error) { c.kill(&failure{cause, true}) }

// fail ends the connection because of what the system said of doing what op names.
func (c *Conn) fail(op string, err error) {
	c.kill(&failure{fmt.Errorf("loop: %s: %w", op, err), true})
}

// kill has the connection closed at the end of the turn. The descriptor stays open until then, so no event of this turn can
// meet its next user.
func (c *Conn) kill(why *failure) {
	if c.is(dead) {
		return
	}
	c.state |= dead
	c.cause = why
	c.loop.dying = append(c.loop.dying, c)
}

// expired is the end of the time to connect, or to write what is left.
func (c *Conn) expired() {
	switch {
	case c.is(connecting):
		c.fail("connect", fmt.Errorf("no answer in time: %w", os.ErrDeadlineExceeded))
	case c.is(closing):
		left := uint32(c.Unsent())
		if c.unsent == 0 || left < c.unsent {
			c.unsent = left
			c.setTimer(internalTimer, c.loop.cfg.CloseTimeout)
			return
		}
		c.fail("close", fmt.Errorf("%d bytes are left that the peer did not take in time: %w", c.queued, os.ErrDeadlineExceeded))
	}
}
