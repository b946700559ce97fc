package loop

import (
	"fmt"
	"net"
	"os"

	"example.com/ferry/internal/bufpool"
)

// Conn is one connection. It belongs to one loop, and only handlers and posted functions of that loop may call its methods.
// No method waits, and no method calls a handler: the handler is called later in the turn, or in the next turn. On a closed
// connection the methods do nothing, so keeping a Conn too long is harmless.
type Conn struct {
	loop    *Loop
	handler Handler
	layered *Socket      // the socket's side of a layer; nil without a layer
	unread  *bufpool.Buf // bytes that Data has not taken; nil if there are none
	queue   chunkQueue   // bytes to write, in front of the layer if there is one
	timers  connTimers
	id      int32
	gen     uint32
	state   state
	unsent  uint32 // Unsent when the time to close last began; 0 before it was over once
}

// state holds the phase of a connection, and what limits reading and writing in it.
//
//	                 layer                Close
//	connecting ──► handshaking ──► open ─────────► closing ──► dead ──► Closed
//	     │              │            │   flushed, or timeout    ▲
//	     └──────────────┴────────────┴──────────────────────────┘
//	                  an error, or Abort
//
// In the open phase the two directions end on their own: reading with peerEnded, writing with writeClosing and then
// writeClosed. A connection with both ends is dead.
type state uint32

const (
	connecting   state = 1 << iota // dialled and not yet connected
	handshaking                    // connected, and its layer is not ready
	closing                        // Close was called: only the queue is still written
	dead                           // in Loop.ended, or Closed was called
	peerEnded                      // HalfClosed was called
	writeClosing                   // CloseWrite was called
	writeClosed                    // and the system was told
	readable                       // the socket or the layer may hold bytes; an event says so only once
	hungUp                         // the peer has ended its side: read until that shows
	paused                         // by PauseReading
	resumed                        // by ResumeReading: the unread bytes are delivered again
	full                           // the queue reached HighWater and has not shrunk to LowWater since
	blocked                        // the socket takes no more bytes; an event follows
	writeWatched                   // that event was asked for
	accepted                       // not dialled
	readQueued                     // is in Loop.toRead
	flushQueued                    // is in Loop.toFlush
)

func (c *Conn) is(s state) bool { return c.state&s != 0 }

// Loop returns the loop that drives c. Connections that work together belong on one loop.
func (c *Conn) Loop() *Loop { return c.loop }

// SetHandler replaces the handler, for example after an upgrade. The unread bytes go to the new one.
func (c *Conn) SetHandler(h Handler) { c.handler = h }

// LocalAddr asks the system for the local address. It is nil if that is not known, as after Closed.
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

// PauseReading stops the calls of Data and HalfClosed until ResumeReading. The peer's bytes stay in the kernel; when its
// buffer is full, the peer has to wait.
func (c *Conn) PauseReading() { c.state |= paused }

// ResumeReading ends a pause. The bytes that Data left are delivered again.
func (c *Conn) ResumeReading() {
	if !c.is(paused) || c.is(dead) {
		return
	}
	c.state = c.state&^paused | resumed
	c.loop.readLater(c)
}

// Unread returns the bytes that Data has left. They are valid until Data is called again or Closed returns.
func (c *Conn) Unread() []byte {
	if c.unread == nil {
		return nil
	}
	return c.unread.B
}

// CloseWrite ends this side once the queue is written; the peer's bytes still arrive. Bytes written afterwards are dropped.
func (c *Conn) CloseWrite() {
	if !c.is(dead | closing | writeClosing) {
		c.state |= writeClosing
		c.loop.flushLater(c)
	}
}

// Readable reports whether the socket or the layer may hold more than was read: bytes, or the peer's end. It is exact within
// Data.
func (c *Conn) Readable() bool {
	return c.is(readable|hungUp) || c.layered != nil && c.layered.readable
}

// Close ends the connection once the queue is written. A peer that takes no byte within Config.CloseTimeout is reset. Data is
// not called any more. A peer that goes on sending may be reset before it has read everything: where that matters, call
// CloseWrite and wait for HalfClosed instead.
func (c *Conn) Close() {
	if c.is(dead | closing) {
		return
	}
	if c.is(connecting | handshaking) {
		c.state |= closing
		c.end(nil, false)
		return
	}
	c.closeAfterFlush()
}

// closeAfterFlush begins the closing phase.
func (c *Conn) closeAfterFlush() {
	c.state |= closing
	c.setTimer(internalTimer, c.loop.cfg.CloseTimeout)
	c.loop.flushLater(c)
}

// Abort drops the queue and resets the connection: the peer sees an error. Closed gets cause.
func (c *Conn) Abort(cause error) { c.end(cause, true) }

// fail resets the connection because an operation failed.
func (c *Conn) fail(op string, err error) { c.end(fmt.Errorf("loop: %s: %w", op, err), true) }

// end makes the connection dead. Its socket is closed at the end of the turn and not before, so that no event of this turn
// reaches the next user of its number.
func (c *Conn) end(cause error, reset bool) {
	if c.is(dead) {
		return
	}
	c.state |= dead
	c.loop.ended = append(c.loop.ended, endedConn{c, cause, reset})
}

// expired is called when the time to connect, for the layer's handshake, or to write the queue after Close is over.
func (c *Conn) expired() {
	switch {
	case c.is(connecting):
		c.fail("connect", fmt.Errorf("no answer in time: %w", os.ErrDeadlineExceeded))
	case c.is(handshaking):
		c.fail("handshake", fmt.Errorf("the layer was not ready in time: %w", os.ErrDeadlineExceeded))
	case c.is(closing):
		left := uint32(c.Unsent())
		if left > 0 && (c.unsent == 0 || left < c.unsent) { // with nothing left, the layer does not end its side
			c.unsent = left
			c.setTimer(internalTimer, c.loop.cfg.CloseTimeout)
			return
		}
		c.fail("close", fmt.Errorf("%d bytes are left that the peer did not take in time: %w", c.Queued(), os.ErrDeadlineExceeded))
	}
}
