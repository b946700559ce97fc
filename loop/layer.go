package loop

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Layer transforms the bytes between a connection and its socket, as TLS does. It reads the peer's bytes from a Socket and
// gives the handler plain ones; it takes the handler's plain bytes and writes others to the Socket.
//
// The loop makes all calls, and none of them may wait: ErrAgain says that nothing can be done now. The loop calls again when
// the socket has bytes or room, or after Socket.Wake. So a layer may also do its work on a goroutine, which comes back with
// Loop.Post and calls Wake. In every call the layer may write to the Socket, as for a handshake or a key update, and may
// consume bytes without producing plain ones.
type Layer interface {
	// Start is called once, before all others but Close, when the socket is connected.
	Start(s *Socket)
	// Handshake makes the layer ready. It is called until it returns nil. Any error but ErrAgain closes the connection
	// after what the layer wrote is sent, such as an alert.
	Handshake() error
	// Read fills p with plain bytes. io.EOF says that the peer has ended its side in order.
	Read(p []byte) (int, error)
	// Write takes plain bytes and returns how many it took.
	Write(p []byte) (int, error)
	// CloseWrite ends this side, as with a close_notify. It is called once all plain bytes are taken, again after ErrAgain.
	CloseWrite() error
	// Close releases what the layer holds. It is called once and last, whatever happened to the connection.
	Close()
}

// SetLayer puts a layer between c and its socket. It is called by an AcceptFunc, or directly after Loop.Dial. When the
// layer is ready, choose returns the handler, by what the layer has learnt (a protocol, a host name), and Opened follows. A
// nil choose keeps the handler c has; a nil handler resets the connection. Bytes written before are sent then.
//
// Until the layer is ready c's handler gets no call but Closed: with the error, if the layer does not become ready within
// Config.HandshakeTimeout of being accepted, or within Dial's timeout. Queued, Full, Drained, PauseReading, CloseWrite and
// the timers work as without a layer.
func (c *Conn) SetLayer(layer Layer, choose func(c *Conn) Handler) {
	if c.is(dead) {
		layer.Close()
		return
	}
	if c.layered != nil || !c.is(connecting) && c.handler != (Base{}) {
		panic("loop: SetLayer belongs into an AcceptFunc, or directly after Dial")
	}
	c.layered = &Socket{conn: c, layer: layer, choose: choose}
	c.state |= handshaking
}

// Layer returns the layer of c, or nil.
func (c *Conn) Layer() Layer {
	if c.layered == nil {
		return nil
	}
	return c.layered.layer
}

// Socket is the socket below a Layer. Its methods are for the connection's loop only.
type Socket struct {
	conn   *Conn
	layer  Layer
	choose func(*Conn) Handler
	out    chunkQueue // what the layer wrote, in front of the socket
	err    error      // why the layer failed
	budget int        // bytes the layer may still read in this turn

	readable     bool // the socket may hold bytes: Conn's bit of that name is for the layer's plain bytes
	sealing      bool // the layer's Write runs: flush follows
	writeStalled bool // the layer's Write, or CloseWrite, answered ErrAgain
	writeEnded   bool // CloseWrite is done, or has no purpose any more
}

// Read reads the peer's bytes. It returns ErrAgain if there are none now, and io.EOF if the peer ended the connection.
func (s *Socket) Read(p []byte) (int, error) {
	c := s.conn
	l := c.loop
	if c.is(dead) || !s.readable || len(p) == 0 {
		return 0, ErrAgain
	}
	if s.budget <= 0 {
		l.readLater(c)
		return 0, ErrAgain
	}
	n, err := l.sys.read(c.id, p)
	l.stats.Reads++
	l.stats.BytesIn += int64(n)
	s.budget -= n
	if err == nil && n < len(p) && !c.is(hungUp) || errors.Is(err, ErrAgain) {
		s.readable = false
	}
	return n, err
}

// Write queues a copy of p, which leaves at the end of the turn. The layer's Write should not produce more than a few KiB
// above what it takes: Queued counts both.
func (s *Socket) Write(p []byte) {
	c := s.conn
	if c.is(dead|writeClosed) || len(p) == 0 {
		return
	}
	s.out.append(&c.loop.free, p)
	if c.Queued() >= c.loop.cfg.HighWater {
		c.state |= full
	}
	if !s.sealing {
		c.loop.flushLater(c)
	}
}

// Wake makes the loop call the layer again, though nothing happened to the socket.
func (s *Socket) Wake() {
	c := s.conn
	if c.is(dead) {
		return
	}
	c.state |= readable
	s.writeStalled = false
	c.loop.readLater(c)
	c.loop.flushLater(c)
}

// start is called when the socket is connected. A timeout of zero leaves the timer of Dial running.
func (s *Socket) start(timeout time.Duration) {
	c := s.conn
	if timeout > 0 {
		c.setTimer(internalTimer, timeout)
	}
	s.layer.Start(s)
	s.Wake()
}

// prepare makes the layer ready, if it is not, before c is read. It reports whether c may be read.
func (s *Socket) prepare() bool {
	c := s.conn
	s.budget = c.loop.cfg.TurnBytes
	if !c.is(handshaking) {
		return !c.is(dead)
	}
	if c.is(connecting | closing | dead) {
		return false
	}
	err := s.layer.Handshake()
	if errors.Is(err, ErrAgain) {
		return false
	}
	if err != nil {
		s.fail("handshake", err)
		return false
	}
	c.state = c.state&^handshaking | readable // the layer may hold plain bytes already
	c.stopTimer(internalTimer)
	if s.choose != nil {
		h := s.choose(c)
		s.choose = nil
		if h == nil {
			c.Abort(nil)
			return false
		}
		c.handler = h
	}
	c.loop.flushLater(c) // what was written before
	if !c.is(dead) {
		c.handler.Opened(c)
	}
	return !c.is(dead)
}

// read reads plain bytes.
func (s *Socket) read(p []byte) (int, error) {
	c := s.conn
	n, err := s.layer.Read(p)
	if n > 0 {
		err = nil
	} else if err == nil {
		err = ErrAgain
	}
	if errors.Is(err, ErrAgain) && s.budget > 0 { // without a budget, readLater was called
		c.state &^= readable
	}
	if s.writeStalled {
		s.writeStalled = false // a read may have changed what stopped the layer's Write
		c.loop.flushLater(c)
	}
	return n, err
}

// seal moves plain bytes through the layer, as many as one turn writes.
func (s *Socket) seal() {
	c := s.conn
	if c.is(handshaking) || s.writeStalled {
		return
	}
	s.sealing = true
	defer func() { s.sealing = false }()
	for c.queue.head != nil && s.out.size < c.loop.cfg.TurnBytes && !c.is(dead) {
		first := c.queue.head
		n, err := s.layer.Write(first.b[first.off:])
		if n < 0 || n > len(first.b)-first.off {
			panic(fmt.Sprintf("loop: Write of %T took %d bytes of %d", s.layer, n, len(first.b)-first.off))
		}
		c.queue.consume(&c.loop.free, n)
		if n > 0 {
			continue
		}
		s.stall(err)
		return
	}
	if c.queue.head == nil && c.is(writeClosing|closing) && !s.writeEnded {
		err := s.layer.CloseWrite()
		if err != nil {
			s.stall(err)
			return
		}
		s.writeEnded = true
	}
}

// stall is called when the layer takes nothing more.
func (s *Socket) stall(err error) {
	if err == nil || errors.Is(err, ErrAgain) {
		s.writeStalled = true
		return
	}
	s.fail("write", err)
}

// sealed reports whether the layer has taken all plain bytes, and the end of this side if it was asked for.
func (s *Socket) sealed() bool {
	c := s.conn
	return c.queue.head == nil && (s.writeEnded || !c.is(writeClosing|closing))
}

// sealLater makes the next turn go on with seal, unless the layer has to be waited for.
func (s *Socket) sealLater() {
	if !s.writeStalled && !s.conn.is(handshaking) {
		s.conn.loop.flushLater(s.conn)
	}
}

// fail closes the connection because of the layer, once what the layer wrote is sent. Closed gets the error.
func (s *Socket) fail(op string, err error) {
	c := s.conn
	if c.is(dead) || s.err != nil {
		return
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // a plain end is the layer's to report
	}
	s.err = fmt.Errorf("loop: %s: %w", op, err)
	s.writeEnded = true
	c.queue.drop(&c.loop.free)
	c.state &^= handshaking
	c.closeAfterFlush()
}

// layerError returns why the layer of c failed, if it did.
func (c *Conn) layerError() error {
	if c.layered == nil {
		return nil
	}
	return c.layered.err
}
