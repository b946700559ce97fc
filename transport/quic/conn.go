package quic

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"example.com/ferry/transport"
)

// Error codes of CONNECTION_CLOSE and of streams, RFC 9000, section 19.19.
const (
	codeClosed  = 0 // both ends have read all bytes
	codeUnread  = 1 // this end closed before the peer had read all bytes
	codeRefused = 2 // Accept did not return the connection
)

// Conn is a QUIC connection and its first stream. All methods may overlap, except two calls of Read or two calls of Write.
type Conn struct {
	*stream
	qc         *quic.Conn
	linger     time.Duration
	identified *identifiedSet // set of the listener; nil if this end dialed
	once       sync.Once

	mu       sync.Mutex
	sockets  []*socket // sockets of a dialed connection; the last one is in use
	open     map[*stream]struct{}
	started  int              // number of streams opened or accepted; the peer sends a receipt for each stream
	receipts *quic.SendStream // stream for receipts to the peer; opened for the first receipt
}

var (
	_ transport.Conn       = (*Conn)(nil)
	_ transport.Multi      = (*Conn)(nil)
	_ transport.Secured    = (*Conn)(nil)
	_ transport.Restricted = (*Conn)(nil)
)

func newConn(qc *quic.Conn, first *quic.Stream, linger time.Duration, own *socket) *Conn {
	c := &Conn{qc: qc, linger: linger, open: map[*stream]struct{}{}}
	if own != nil {
		c.sockets = []*socket{own}
	}
	c.stream = c.add(first)
	return c
}

func (c *Conn) add(qs *quic.Stream) *stream {
	s := &stream{qs: qs, conn: c}
	c.mu.Lock()
	c.open[s] = struct{}{}
	c.started++
	c.mu.Unlock()
	return s
}

// OpenStream opens one more stream. If the peer's limit of streams is reached, it waits. The peer sees the stream when its
// first bytes arrive.
func (c *Conn) OpenStream(ctx context.Context) (net.Conn, error) {
	qs, err := c.qc.OpenStreamSync(ctx)
	if err != nil {
		return nil, fmt.Errorf("quic: open stream: %w", netError(err))
	}
	return c.add(qs), nil
}

// AcceptStream returns the next stream that the peer opened.
func (c *Conn) AcceptStream(ctx context.Context) (net.Conn, error) {
	qs, err := c.qc.AcceptStream(ctx)
	if err != nil {
		return nil, fmt.Errorf("quic: accept stream: %w", netError(err))
	}
	return c.add(qs), nil
}

// ConnectionState returns the state of TLS, including the peer's certificate.
func (c *Conn) ConnectionState() tls.ConnectionState { return c.qc.ConnectionState().TLS }

// PeerIdentified lets the receive window of an accepted connection grow beyond Config.InitialWindow. It may be called at any
// time. On a connection that this end dialed it does nothing.
func (c *Conn) PeerIdentified() {
	if c.identified != nil {
		c.identified.add(c.qc)
	}
}

// Migrate moves a dialed connection to a new UDP socket, for example when a better network becomes available. If only the
// address of the present socket changes, QUIC adapts without this call.
func (c *Conn) Migrate(ctx context.Context) error {
	c.mu.Lock()
	dialed := len(c.sockets) > 0
	c.mu.Unlock()
	if !dialed {
		return errors.New("quic: migrate: only the end that dialed can move")
	}
	s, err := openSocket()
	if err != nil {
		return fmt.Errorf("quic: migrate: %w", err)
	}
	s.tolerateLostRoutes()
	if err := c.moveTo(ctx, s); err != nil {
		s.close()
		return fmt.Errorf("quic: migrate: %w", netError(err))
	}
	return nil
}

func (c *Conn) moveTo(ctx context.Context, s *socket) error {
	path, err := c.qc.AddPath(&s.Transport)
	if err != nil {
		return err
	}
	if err := path.Probe(ctx); err != nil {
		return err
	}
	// The earlier sockets stay open, because packets to them may be in flight.
	c.mu.Lock()
	c.sockets = append(c.sockets, s)
	c.mu.Unlock()
	return path.Switch()
}

// Close ends the connection and all its streams. It waits until the peer has read all bytes, at most for Config.Linger.
func (c *Conn) Close() error {
	c.once.Do(func() {
		c.mu.Lock()
		open := make([]*stream, 0, len(c.open))
		for s := range c.open {
			open = append(open, s)
		}
		c.mu.Unlock()
		for _, s := range open {
			_ = s.Close()
		}
		code, why := quic.ApplicationErrorCode(codeClosed), ""
		if !c.awaitReceipts() {
			code, why = codeUnread, "closed before all was read"
		}
		_ = c.qc.CloseWithError(code, why)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range c.sockets {
			s.close()
		}
	})
	return nil
}

// awaitReceipts waits for the peer's receipts and reports whether there is one, a single byte, for each stream.
func (c *Conn) awaitReceipts() bool {
	if c.linger < 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(c.qc.Context(), c.linger)
	defer cancel()
	receipts, err := c.qc.AcceptUniStream(ctx)
	if err != nil {
		return false
	}
	end, _ := ctx.Deadline()
	_ = receipts.SetReadDeadline(end)
	c.mu.Lock()
	want := int64(c.started)
	c.mu.Unlock()
	got, _ := io.CopyN(io.Discard, receipts, want)
	return got == want
}

// sendReceipt sends a receipt: this end has read one more stream to its end, or will not read the stream any further. If the
// receipt cannot be sent, the peer's Close waits for the whole Linger. There is no other effect.
func (c *Conn) sendReceipt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.receipts == nil {
		s, err := c.qc.OpenUniStream()
		if err != nil {
			return
		}
		c.receipts = s
	}
	_ = c.receipts.TryWriteAll([]byte{1})
}
