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
	codeClosed  = 0 // both ends have read everything
	codeUnread  = 1 // closed before the peer had read everything
	codeRefused = 2 // Accept did not return the connection
)

// Conn is a QUIC connection, and its first stream. All methods may overlap, except that Read and Write are for one
// goroutine each at a time.
type Conn struct {
	*stream
	qc         *quic.Conn
	linger     time.Duration
	identified *identifiedSet // the listener's; nil if this end dialed
	once       sync.Once

	mu       sync.Mutex
	sockets  []*socket // of a dialed connection; the last one is in use
	open     map[*stream]struct{}
	started  int              // streams opened or accepted so far: the peer sends a receipt for each
	receipts *quic.SendStream // opened for the first receipt
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

// OpenStream opens one more stream. It waits while the peer's limit of streams is reached. The peer sees the stream with its
// first bytes.
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

// ConnectionState returns the state of TLS, which has the peer's certificate.
func (c *Conn) ConnectionState() tls.ConnectionState { return c.qc.ConnectionState().TLS }

// PeerIdentified lets the receive window of an accepted connection grow beyond Config.InitialWindow. It may be called at
// any time, and does nothing on a connection that this end dialed.
func (c *Conn) PeerIdentified() {
	if c.identified != nil {
		c.identified.add(c.qc)
	}
}

// Migrate moves a dialed connection to a new UDP socket, for example after a better network became available. If the address
// of the present socket changes, no call is needed: QUIC follows by itself.
func (c *Conn) Migrate(ctx context.Context) error {
	c.mu.Lock()
	dialed := len(c.sockets) > 0
	c.mu.Unlock()
	if !dialed {
		return errors.New("quic: migrate: only the end that dialed can move")
	}
	s, err := openSocket(nil, 0)
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
	// The earlier sockets stay open: packets may be in flight to them.
	c.mu.Lock()
	c.sockets = append(c.sockets, s)
	c.mu.Unlock()
	return path.Switch()
}

// Close ends the connection with all its streams. It waits until the peer has read all bytes, no longer than Config.Linger.
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

// awaitReceipts reports whether the peer has sent a receipt, one byte, for each stream.
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

// acknowledge sends a receipt: one more stream was read to its end, or is not read any further. If it cannot be sent, the
// peer's Close waits for its Linger; there is no other effect.
func (c *Conn) acknowledge() {
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
