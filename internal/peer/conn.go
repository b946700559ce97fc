package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
)

// Config holds the limits and callbacks of one end of a connection.
type Config struct {
	// Lowest and Highest are the protocol versions that this end speaks. Zero means the versions of package native.
	Lowest, Highest uint8

	// Remote names the other end in errors: "client" or "node".
	Remote string

	// WriteBuffer is how many bytes of each stream may wait for a write before producers should pause. Zero means 256
	// KiB.
	WriteBuffer int

	// Gather is FrameWriter.Gather for all streams.
	Gather bool

	// Lend makes the reader pass small frames with the buffer that holds them, as it does with large ones. It is for a Receiver that
	// keeps what it gets.
	Lend bool

	// MaxResponses bounds the bytes of responses that wait for a write. If they exceed it the connection is closed,
	// because the peer sends requests and does not read the responses. Zero means 256 KiB.
	MaxResponses int

	// Linger is how long a closing connection continues to write appended frames. Zero means 2 s.
	Linger time.Duration

	// OnDrain is called on a goroutine of its own when the peer sends GOAWAY draining. If OnDrain is nil, that GOAWAY
	// ends the connection.
	OnDrain func()

	// OnClosing is called once, when the connection begins to close. Frames read later are discarded, but a handler may
	// still be running. why is nil or io.EOF after an orderly end.
	OnClosing func(why error)

	// Keep is called at most once, before the socket is closed after an orderly end. If it returns true, the Conn does not close it: all reads
	// and writes fail from then on, and the caller of New closes the socket later. Nil means that the Conn closes it.
	Keep func() bool

	// OnClosed is called once, when all goroutines of the connection have ended.
	OnClosed func()
}

// Conn is one end of a native connection: a control stream, and data streams if the transport has them. All methods may
// overlap, except those of the handshake.
type Conn struct {
	cfg      Config
	raw      transport.Conn
	multi    transport.Multi // nil if all frames use the control stream
	version  uint8
	maxFrame int
	control  *FrameWriter
	reader   *FrameReader // reads the control stream; nil if an event loop drives the connection
	state    atomic.Int32
	leaving  atomic.Bool     // the peer has sent GOAWAY draining
	ctx      context.Context // ends when the socket is closed, with the reason as its cause
	cancel   context.CancelCauseFunc
	readers  sync.WaitGroup // goroutines that read or accept streams
	closed   chan struct{}
	aborted  atomic.Bool // Abort was called

	mu       sync.Mutex
	data     []*FrameWriter // indexed by data stream; nil until used
	sealed   bool           // no further data stream may be opened
	progress map[*FrameReader]*progress
	barriers map[uint64]chan struct{} // waiting calls of Barrier, by the value of their PING
	lastPing uint64
}

// New returns a Conn for this end of raw, in state Handshake. The caller continues with Connect or Accept, and then
// with Serve.
func New(raw transport.Conn, cfg Config) *Conn {
	c := newConn(raw, cfg)
	c.reader = NewFrameReader(raw, native.MaxHandshake)
	return c
}

func newConn(raw transport.Conn, cfg Config) *Conn {
	if cfg.Lowest == 0 {
		cfg.Lowest = native.LowestVersion
	}
	if cfg.Highest == 0 {
		cfg.Highest = native.Version
	}
	if cfg.WriteBuffer == 0 {
		cfg.WriteBuffer = 256 << 10
	}
	if cfg.MaxResponses == 0 {
		cfg.MaxResponses = 256 << 10
	}
	if cfg.Linger == 0 {
		cfg.Linger = 2 * time.Second
	}
	c := &Conn{
		cfg: cfg, raw: raw, control: NewFrameWriter(cfg.WriteBuffer), closed: make(chan struct{}),
	}
	c.control.Gather = cfg.Gather
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.readers.Add(1) // for Serve
	return c
}

// Control returns the writer of the control stream.
func (c *Conn) Control() *FrameWriter { return c.control }

// Version returns the protocol version that both ends speak, after the handshake.
func (c *Conn) Version() uint8 { return c.version }

// Streams returns the number of data streams in each direction. 0 means that all frames use the control stream.
func (c *Conn) Streams() int { return len(c.data) }

// Context returns a context that ends when the socket is closed.
func (c *Conn) Context() context.Context { return c.ctx }

// Err returns why the socket was closed, or nil while it is open.
func (c *Conn) Err() error { return context.Cause(c.ctx) }

// RemoteAddr returns the address of the other end.
func (c *Conn) RemoteAddr() net.Addr { return c.raw.RemoteAddr() }

// TLS returns the state of the connection's TLS layer, or nil without TLS.
func (c *Conn) TLS() *tls.ConnectionState {
	secured, ok := c.raw.(transport.Secured)
	if !ok {
		return nil
	}
	state := secured.ConnectionState()
	return &state
}

// Tell appends a control frame that appendTo makes.
func (c *Conn) Tell(appendTo func([]byte) []byte) {
	c.control.Lock()
	if !c.control.Closed() {
		c.control.SetTail(appendTo(c.control.Tail(maxControlFrame)))
	}
	c.control.Unlock()
}

// Respond appends a control frame that responds to a frame of the peer. If more than MaxResponses bytes of responses
// wait, it closes the connection.
func (c *Conn) Respond(appendTo func([]byte) []byte) {
	waiting := 0
	c.control.Lock()
	if !c.control.Closed() {
		waiting = c.control.AppendResponse(maxControlFrame, appendTo)
	}
	c.control.Unlock()
	if waiting > c.cfg.MaxResponses {
		c.Close(&native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("the %s sends requests and does not read the responses", c.cfg.Remote)})
	}
}

// maxControlFrame is the expected size of a control frame, in bytes. The buffer grows for a larger frame.
const maxControlFrame = 4 << 10

// Drain tells the peer that this end is stopping. Only the first call sends. Messages in flight are still handled.
func (c *Conn) Drain(reason string) {
	if c.moveTo(Draining) {
		c.Tell(func(b []byte) []byte {
			return native.AppendGoaway(b, native.GoawayFrame{Code: native.CodeDraining, Reason: reason})
		})
	}
}

// PeerDraining reports whether the peer has sent GOAWAY draining. It says so before OnDrain is called, so also when Serve has returned.
func (c *Conn) PeerDraining() bool { return c.leaving.Load() }

// Leave tells the peer that this end is done. The peer writes its queued frames and closes the connection.
func (c *Conn) Leave() {
	c.Tell(func(b []byte) []byte { return native.AppendGoaway(b, native.GoawayFrame{Code: native.CodeOK}) })
}

// remoteError is the error that the peer sent in GOAWAY.
type remoteError struct{ reason *native.Error }

func (e remoteError) Error() string { return e.reason.Error() }
func (e remoteError) Unwrap() error { return e.reason }

// IsClean reports whether why, an argument of OnClosing, stands for an orderly end.
func IsClean(why error) bool { return why == nil || errors.Is(why, io.EOF) }

// Close closes the connection because of why. Only the first call has an effect, and it does not wait. If why is a
// *native.Error, the peer gets it in GOAWAY. After that error, and after an orderly end (nil, io.EOF), frames appended
// earlier are still written, for at most Config.Linger.
func (c *Conn) Close(why error) {
	if c.moveTo(Closing) {
		go c.finish(why)
	}
}

// Abort closes the socket immediately. It does not wait, because closing a QUIC connection waits until the peer has
// read everything. The goroutines of Serve then close the Conn.
func (c *Conn) Abort() {
	c.aborted.Store(true)
	go func() { _ = c.raw.Close() }()
}

// closeSocket closes the socket because of why, unless Config.Keep keeps it.
func (c *Conn) closeSocket(why error) {
	if IsClean(why) && !c.aborted.Load() && c.cfg.Keep != nil && c.cfg.Keep() {
		_ = c.raw.SetDeadline(time.Unix(1, 0))
		return
	}
	_ = c.raw.Close()
}

func (c *Conn) finish(why error) {
	if c.cfg.OnClosing != nil {
		c.cfg.OnClosing(why)
	}
	var fault *native.Error
	var remote remoteError
	local := errors.As(why, &fault) && !errors.As(why, &remote)
	if local {
		c.Tell(func(b []byte) []byte {
			return native.AppendGoaway(b, native.GoawayFrame{Code: fault.Code, Reason: fault.Reason})
		})
	}
	c.mu.Lock()
	c.sealed = true
	c.mu.Unlock()
	writers := c.Writers()
	for _, w := range writers {
		w.Close()
	}
	if local || IsClean(why) {
		c.flush(writers)
	}
	c.cancel(why)
	c.closeSocket(why)
	for _, w := range writers {
		<-w.Done()
	}
	c.readers.Wait()
	c.moveTo(Closed)
	if c.cfg.OnClosed != nil {
		c.cfg.OnClosed()
	}
	close(c.closed)
}

// flush waits until the closed writers have written everything, for at most Config.Linger.
func (c *Conn) flush(writers []*FrameWriter) {
	late := time.After(c.cfg.Linger)
	for _, w := range writers {
		select {
		case <-w.Done():
		case <-late:
			return
		}
	}
}
