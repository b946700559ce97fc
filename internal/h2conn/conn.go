package h2conn

import (
	"net"
	"sync"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/http2"
)

// quietFor is the shortest pause since the last write after which Unlock writes directly. After a shorter pause the writing
// goroutine gathers the output of several calls.
const quietFor = 3 * time.Microsecond

// fewStreams is the number of streams up to which Unlock writes directly. With more, others probably have something to send too: the
// writing goroutine lets them run first. That makes a unary call of 100 clients on 4 connections cost less than half.
const fewStreams = 2

// Conn is one end of an HTTP/2 connection over a net.Conn. Lock, Unlock, Close, Drain, Done, Err and Raw may overlap.
type Conn struct {
	cfg    Config
	raw    net.Conn
	client bool
	user   http2.Handler
	turn   Turner // user, if it is one

	// writer gathers output. Its lock is the lock of the connection, so a frame is appended without a second lock.
	writer *peer.FrameWriter
	http2  *http2.Conn
	state  state
	checks

	once     sync.Once
	why      error         // reason of the end; set before closing is closed
	closing  chan struct{} // closed by Close
	finished chan struct{} // closed when the socket is closed
	readEnd  chan struct{} // closed when the reading goroutine has ended
	ended    chan struct{} // closed when Serve has ended

	discarded int // bytes that arrived while closing
}

// Turner is a Handler that is called once more when Serve has handled all that it has read, before the output is written. The lock is held.
// A server starts the handlers of a turn there, because earlier they would wait for the lock. A client looks there whether the
// server's SETTINGS have arrived.
type Turner interface{ Turn() }

// Holder is a Handler that counts the memory of the streams' queues. Hold says that they take n more bytes, or fewer if n is negative. The lock
// is held.
type Holder interface{ Hold(n int) }

// Ticker is a Handler that is called once a second while streams are open. The lock is held.
type Ticker interface{ Tick(now time.Time) }

// Server returns the server's end of a connection over nc. A nil cfg means defaults. Serve must follow.
func Server(nc net.Conn, cfg *Config, h http2.Handler) *Conn {
	c := newConn(nc, cfg, h)
	c.http2 = http2.NewServer(&c.cfg.HTTP2, (*events)(c), (*output)(c))
	return c
}

// Client returns the client's end of a connection over nc. A nil cfg means defaults. Serve must follow. Streams may be opened at once.
// Until the server's SETTINGS arrive, it accepts 100.
func Client(nc net.Conn, cfg *Config, h http2.Handler) *Conn {
	c := newConn(nc, cfg, h)
	c.client = true
	c.http2 = http2.NewClient(&c.cfg.HTTP2, (*events)(c), (*output)(c))
	return c
}

func newConn(nc net.Conn, cfg *Config, h http2.Handler) *Conn {
	c := &Conn{
		cfg: cfg.withDefaults(), raw: nc, user: h,
		closing: make(chan struct{}), finished: make(chan struct{}), readEnd: make(chan struct{}), ended: make(chan struct{}),
	}
	c.writer = peer.NewFrameWriter(c.cfg.WriteBuffer)
	c.writer.Refill = c.refill
	c.writer.Gather = true
	c.turn, _ = h.(Turner)
	return c
}

// Lock locks the connection. See the rules in the package's documentation.
func (c *Conn) Lock() { c.writer.Lock() }

// Unlock unlocks the connection and writes the output, or lets the writing goroutine write it.
func (c *Conn) Unlock() { c.unlock(quietFor) }

// unlock unlocks the connection. It writes the output itself if the last write ended at least quiet ago.
func (c *Conn) unlock(quiet time.Duration) {
	c.advance()
	if !c.armed && c.needsChecks() {
		c.arm(time.Now())
	}
	if c.http2.Streams() > fewStreams {
		c.writer.Unlock()
		return
	}
	c.writer.UnlockFlush(quiet)
}

// HTTP2 returns the protocol's end of the connection. It needs the lock.
func (c *Conn) HTTP2() *http2.Conn { return c.http2 }

// Raw returns the net.Conn below, for its addresses and its TLS state. Only Conn reads, writes and closes it.
func (c *Conn) Raw() net.Conn { return c.raw }

// Done returns a channel that is closed when Serve has ended: all streams are reset, and the net.Conn is closed.
func (c *Conn) Done() <-chan struct{} { return c.ended }

// Err returns nil while the connection is open, and then why it ended, or net.ErrClosed if it ended in order.
func (c *Conn) Err() error {
	select {
	case <-c.closing:
		if c.why == nil {
			return net.ErrClosed
		}
		return c.why
	default:
		return nil
	}
}

// refill lets streams send what waits for room in the writer. The writing goroutine calls it before each write, under the lock.
func (c *Conn) refill() (after func()) {
	c.http2.Flush()
	c.advance()
	return nil
}

// output is the http2.Output of a Conn.
type output Conn

var _ http2.Output = (*output)(nil)

func (o *output) Write(p []byte)                       { o.writer.Append(p) }
func (o *output) WriteShared(b *bufpool.Buf, p []byte) { o.writer.Share(b, p) }
func (o *output) Full() bool                           { return o.writer.Room() <= 0 }
func (*output) Crowded() bool                          { return false }

func (o *output) Hold(n int) {
	if h, ok := o.user.(Holder); ok {
		h.Hold(n)
	}
}

// events is the http2.Handler of a Conn. It counts for checks, and passes on.
type events Conn

var _ http2.Handler = (*events)(nil)

func (e *events) Headers(s *http2.Stream, h *http2.Head, end bool) {
	e.received++
	e.user.Headers(s, h, end)
}

func (e *events) Data(s *http2.Stream, p []byte, end bool) {
	e.received++
	e.user.Data(s, p, end)
}

func (e *events) Reset(s *http2.Stream, why http2.StreamError) { e.user.Reset(s, why) }
func (e *events) Writable(s *http2.Stream)                     { e.user.Writable(s) }
func (e *events) Sent(s *http2.Stream)                         { e.user.Sent(s) }

// GoAway lets a client close the connection when its last stream has ended.
func (e *events) GoAway(last uint32, code http2.Code) {
	c := (*Conn)(e)
	if c.client {
		c.enter(draining)
	}
	c.user.GoAway(last, code)
}
