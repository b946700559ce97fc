package loop

import (
	"fmt"
	"net"
	"net/netip"
	"os"

	"example.com/ferry/internal/bufpool"
)

// Conn is one connection. It belongs to one loop. Only handlers and posted functions of that loop may call its methods. No
// method blocks. No method calls a handler: such calls follow later in the turn, or in the next turn. On a closed connection
// the methods do nothing, so calls after Closed are harmless.
type Conn struct {
	loop    *Loop
	handler Handler
	layered *Socket      // socket below the layer; nil without a layer
	unread  *bufpool.Buf // bytes that Data has not consumed; nil if there are none
	queue   chunkQueue   // bytes to write; a layer has not processed them yet
	entry   wheelEntry   // of all timers, never later than the earliest
	gen     uint32
	id      int32
	state   state
	unsent  uint32 // result of Unsent when CloseTimeout last expired; 0 before

	// Tables beside Loop.conns would have places for the descriptors of all loops.
	deadlines [allTimers]uint32
	port      uint16   // of the address that an accepted connection came from; 0 if it has no IP address
	origin    uint16   // of an accepted connection: its place in Loop.origins
	ip        [16]byte // of the same address as port
}

// state holds the phase of a connection and the flags that limit reading and writing.
//
//	                 layer                Close
//	connecting ──► handshaking ──► open ─────────► closing ──► dead ──► Closed
//	     │              │            │   flushed, or timeout    ▲
//	     └──────────────┴────────────┴──────────────────────────┘
//	                  an error, or Abort
//
// In the open phase each direction ends on its own: reading with peerEnded, writing with writeClosing and then writeClosed. A
// connection whose two directions have ended is dead.
type state uint32

const (
	connecting   state = 1 << iota // dialled and not yet connected
	handshaking                    // connected, but the layer is not ready
	closing                        // Close was called: the loop only writes the queue
	dead                           // in Loop.ended, or Closed was called
	peerEnded                      // HalfClosed was called
	writeClosing                   // CloseWrite was called
	writeClosed                    // the socket's sending side is shut down
	readable                       // the socket or the layer may hold bytes; the event is not repeated
	hungUp                         // an event reported the end of the peer's side: read until the end is returned
	paused                         // PauseReading was called
	resumed                        // ResumeReading was called: the unread bytes are delivered again
	full                           // the queue has reached HighWater and has not shrunk to LowWater since
	blocked                        // the socket accepts no more bytes; an event follows
	writeBegun                     // the system may have sent queued bytes without reporting it yet
	writeWatched                   // an event is requested for when the socket accepts bytes
	accepted                       // accepted by a listener, not dialled
	readQueued                     // c is in Loop.toRead
	flushQueued                    // c is in Loop.toFlush
	shortQueue                     // LimitQueue was called
	splicing                       // Splice was called
	passing                        // the queue holds bytes of WriteNow that the socket did not accept
)

func (c *Conn) is(s state) bool { return c.state&s != 0 }

// Loop returns the loop that drives c. Connections that exchange data belong on one loop.
func (c *Conn) Loop() *Loop { return c.loop }

// ID returns a number that no other connection of the loop has, nor had among the last 2^32. Its upper half counts up, from a random number. So it
// does not name a connection of another process either, such as the one that this one replaces.
func (c *Conn) ID() uint64 { return uint64(c.gen)<<32 | uint64(uint32(c.id)) }

// Handler returns the handler of c.
func (c *Conn) Handler() Handler { return c.handler }

// SetHandler replaces the handler, for example after an upgrade. The new handler also gets the unread bytes.
func (c *Conn) SetHandler(h Handler) {
	c.handler = h
	c.state &^= splicing
}

// LocalAddr asks the system for the local address. It returns nil if the address is not known, for example after Closed.
func (c *Conn) LocalAddr() net.Addr {
	if c.loop.conn(c.id) != c {
		return nil
	}
	local, _ := c.loop.sys.addrs(c.id)
	return local
}

// RemoteAddr returns the peer's address: of an accepted connection over IP the one that it was accepted from, also if the peer has reset the
// connection since; of another connection what the system says. It returns nil if the address is not known, for example after Closed.
func (c *Conn) RemoteAddr() net.Addr {
	if from := c.acceptedFrom(); from.Port() != 0 {
		return net.TCPAddrFromAddrPort(from)
	}
	if c.loop.conn(c.id) != c {
		return nil
	}
	_, remote := c.loop.sys.addrs(c.id)
	return remote
}

// acceptedFrom returns the address that an accepted connection came from, as accept has returned it. Later the system may not know it any more: a
// peer that resets the connection has none, though what it sent is still to be read. Its port is 0 if it is not known, as in Closed.
func (c *Conn) acceptedFrom() netip.AddrPort {
	if c.loop.conn(c.id) != c {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(netip.AddrFrom16(c.ip).Unmap(), c.port)
}

// RemoteIP returns the IP address of RemoteAddr. It is an empty string for a Unix domain socket, or if the address is not known. An IPv4
// address has its usual form on an IPv6 socket too.
func (c *Conn) RemoteIP() string {
	if from := c.acceptedFrom(); from.Port() != 0 {
		return from.Addr().String()
	}
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap().String()
	}
	return ""
}

// PauseReading stops the calls of Data and HalfClosed until ResumeReading. The peer's bytes stay in the kernel. Once the
// kernel's buffer is full, the peer cannot send more.
func (c *Conn) PauseReading() { c.state |= paused }

// ResumeReading ends a pause. Data is called again with the unread bytes.
func (c *Conn) ResumeReading() {
	if !c.is(paused) || c.is(dead) {
		return
	}
	c.state = c.state&^paused | resumed
	c.loop.readLater(c)
}

// Unread returns the bytes that Data has not consumed. The slice is valid until Data is called again or Closed returns.
func (c *Conn) Unread() []byte {
	if c.unread == nil {
		return nil
	}
	return c.unread.B
}

// CloseWrite ends the sending side once the queue is written. The peer's bytes still arrive. Later writes are dropped.
func (c *Conn) CloseWrite() {
	if !c.is(dead | closing | writeClosing) {
		c.state |= writeClosing
		c.loop.flushLater(c)
	}
}

// Readable reports whether the socket or the layer may hold more to read: bytes, or the end of the peer's side. Within Data
// the result is exact, with a layer if it is a Buffered one.
func (c *Conn) Readable() bool {
	if c.layered == nil {
		return c.is(readable | hungUp)
	}
	return c.is(hungUp) || c.layered.readable || c.is(readable) && c.layered.buffered()
}

// Close ends the connection once the queue is written. Data is not called any more. If the peer reads no byte of the queue
// within Config.CloseTimeout, the connection is reset. A peer that continues to send may be reset before it has read the whole
// queue. To avoid that, call CloseWrite and wait for HalfClosed.
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

// closeAfterFlush starts the closing phase.
func (c *Conn) closeAfterFlush() {
	c.state |= closing
	c.setTimer(internalTimer, c.loop.cfg.CloseTimeout)
	c.loop.flushLater(c)
}

// Abort drops the queue and resets the connection, so the peer sees an error. Closed is called with cause.
func (c *Conn) Abort(cause error) { c.end(cause, true) }

// fail resets the connection because an operation failed.
func (c *Conn) fail(op string, err error) { c.end(fmt.Errorf("loop: %s: %w", op, err), true) }

// end makes the connection dead. The socket stays open until the end of the turn. Otherwise a pending event could reach a new
// socket with the same number.
func (c *Conn) end(cause error, reset bool) {
	if c.is(dead) {
		return
	}
	c.state |= dead
	c.loop.ended = append(c.loop.ended, endedConn{c, cause, reset})
}

// expired is called when a time limit is over: of connecting, of the layer's handshake, or of writing the queue after Close.
func (c *Conn) expired() {
	switch {
	case c.is(connecting):
		c.fail("connect", fmt.Errorf("not connected in time: %w", os.ErrDeadlineExceeded))
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
