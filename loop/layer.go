package loop

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Layer transforms the bytes between a connection and its socket, as TLS does. It reads the peer's bytes from a Socket and
// passes plain bytes to the handler. It accepts plain bytes from the handler and writes the transformed bytes to the Socket.
//
// The loop makes all calls, and no call may block. ErrAgain means that the layer can do nothing now. The loop calls again when
// the socket has bytes or room, or after Socket.Wake. So a layer may do its work on a goroutine. That goroutine returns to the
// loop with Loop.Post and calls Wake there. In every call the layer may write to the Socket, for example for a handshake or a
// key update. It may also consume bytes without producing plain bytes.
type Layer interface {
	// Start is called once, when the socket is connected. It is the first call, unless Close comes without it.
	Start(s *Socket)
	// Handshake makes the layer ready. It is called until it returns nil. Any error but ErrAgain closes the connection. Bytes
	// that the layer wrote before, such as an alert, are still sent.
	Handshake() error
	// Read fills p with plain bytes. io.EOF means that the peer has ended its side in order.
	Read(p []byte) (int, error)
	// Write accepts plain bytes and returns how many it accepted.
	Write(p []byte) (int, error)
	// CloseWrite ends the sending side, for example with a close_notify of TLS. It is called once all plain bytes are
	// accepted. It is called again if it returned ErrAgain.
	CloseWrite() error
	// Close releases the layer's resources. It is called exactly once, as the last call, however the connection ended.
	Close()
}

// Buffered is a Layer that tells what it holds.
type Buffered interface {
	Layer
	// Buffered reports whether the layer holds bytes that Read has not returned, or knows of the end of the peer's side.
	Buffered() bool
}

// SetLayer puts a layer between c and its socket. It is called in an AcceptFunc, or directly after Loop.Dial. When the layer
// is ready, choose returns the handler, for example by the protocol or host name of the handshake. Then Opened is called. A
// nil choose keeps the current handler. If choose returns nil, the connection is reset. Bytes written before the layer is
// ready are sent after choose.
//
// Until the layer is ready, the handler of c gets no call but Closed. Closed gets an error if the layer fails, or if it is not
// ready within Config.HandshakeTimeout of being accepted or within Dial's timeout. Queued, Full, Drained, PauseReading,
// CloseWrite and the timers work as without a layer.
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

// Layer returns the layer of c, or nil without a layer.
func (c *Conn) Layer() Layer {
	if c.layered == nil {
		return nil
	}
	return c.layered.layer
}

// Socket is the socket below a Layer. Only the connection's loop may call its methods.
type Socket struct {
	conn   *Conn
	layer  Layer
	choose func(*Conn) Handler
	out    chunkQueue // bytes that the layer wrote and the socket has not accepted
	err    error      // why the layer failed; nil if it did not
	budget int        // bytes that the layer may still read in this turn
	extra  int32      // bytes in out that the layer wrote outside its Write; they are counted since out was last empty

	readable     bool // the socket may hold bytes; Conn's flag readable is about plain bytes
	sealing      bool // the layer's Write is running; flush follows
	writeStalled bool // the layer's Write or CloseWrite returned ErrAgain
	writeEnded   bool // the layer's CloseWrite has succeeded, or is no longer needed
}

// Read reads the peer's bytes. It returns ErrAgain if there are none now, and io.EOF if the peer has ended the connection.
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

// maxExtra is the most bytes that a layer queues outside its Write, for example in response to key updates. A chain of
// certificates fits.
const maxExtra = 256 << 10

// Write queues a copy of p. The loop sends it at the end of the turn. The layer's Write should produce at most a few KiB more
// than it accepts, because Queued counts both. Outside the layer's Write the peer may be the cause of p, and no watermark
// limits it. So the connection is reset if the peer does not read and more than 256 KiB of such bytes are queued.
func (s *Socket) Write(p []byte) {
	c := s.conn
	if c.is(dead|writeClosed) || len(p) == 0 {
		return
	}
	if !s.sealing {
		if s.out.head == nil {
			s.extra = 0
		}
		if len(p) > maxExtra-int(s.extra) {
			c.fail("write", fmt.Errorf("the peer does not read: the layer has queued more than %d bytes beside its data", maxExtra))
			return
		}
		s.extra += int32(len(p))
		c.loop.flushLater(c)
	}
	s.out.append(&c.loop.free, p, smallChunk)
	c.queueGrew()
}

// Wake makes the loop call the layer again without an event of the socket.
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

// start is called when the socket is connected. If timeout is zero, the timer of Dial continues.
func (s *Socket) start(timeout time.Duration) {
	c := s.conn
	if timeout > 0 {
		c.setTimer(internalTimer, timeout)
	}
	s.layer.Start(s)
	s.Wake()
}

// prepare makes the layer ready, if necessary, before c is read. It reports whether c may be read.
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
	if errors.Is(err, ErrAgain) || c.is(dead) {
		return false
	}
	if err != nil {
		s.fail("handshake", err)
		return false
	}
	c.state = c.state&^handshaking | readable // the layer may already hold plain bytes
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
	c.loop.flushLater(c) // sends the bytes that were written before the layer was ready
	if !c.is(dead) {
		c.handler.Opened(c)
	}
	return !c.is(dead)
}

// read reads plain bytes from the layer.
func (s *Socket) read(p []byte) (int, error) {
	c := s.conn
	n, err := s.layer.Read(p)
	if c.is(dead) { // Write has reset the connection
		return 0, ErrAgain
	}
	if n > 0 {
		err = nil
	} else if err == nil {
		err = ErrAgain
	}
	if errors.Is(err, ErrAgain) && s.budget > 0 { // if budget is 0, readLater was already called
		c.state &^= readable
	}
	if s.writeStalled {
		s.writeStalled = false // the read may have removed the reason for a stalled Write
		c.loop.flushLater(c)
	}
	return n, err
}

// buffered reports whether the layer may hold something to read.
func (s *Socket) buffered() bool {
	b, ok := s.layer.(Buffered)
	return !ok || b.Buffered()
}

// seal passes plain bytes to the layer's Write, as many as one turn writes.
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

// stall is called when the layer accepts nothing more.
func (s *Socket) stall(err error) {
	if err == nil || errors.Is(err, ErrAgain) {
		s.writeStalled = true
		return
	}
	s.fail("write", err)
}

// sealed reports whether the layer has accepted all plain bytes and, after CloseWrite or Close, the end of the sending side.
func (s *Socket) sealed() bool {
	c := s.conn
	return c.queue.head == nil && (s.writeEnded || !c.is(writeClosing|closing))
}

// sealLater makes the next turn continue seal, unless the layer's Write is stalled.
func (s *Socket) sealLater() {
	if !s.writeStalled && !s.conn.is(handshaking) {
		s.conn.loop.flushLater(s.conn)
	}
}

// fail closes the connection because the layer failed, once the bytes that the layer wrote are sent. Closed gets the error.
func (s *Socket) fail(op string, err error) {
	c := s.conn
	if c.is(dead) || s.err != nil {
		return
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // only the layer may report an orderly end
	}
	s.err = fmt.Errorf("loop: %s: %w", op, err)
	s.writeEnded = true
	c.queue.drop(&c.loop.free)
	c.state &^= handshaking
	c.closeAfterFlush()
}

// layerError returns why the layer of c failed, or nil.
func (c *Conn) layerError() error {
	if c.layered == nil {
		return nil
	}
	return c.layered.err
}
