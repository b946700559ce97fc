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
	codeClosed  = 0 // both ends know that everything was read
	codeHasty   = 1 // closed before the peer had read everything
	codeRefused = 2 // never handed out by Accept
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
	sockets  []*socket // a dialer's own; the last one is in use
	open     map[*stream]struct{}
	started  int              // streams that there have been: each end owes the other as many receipts
	receipts *quic.SendStream // opened by the first receipt
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

// OpenStream opens one more stream, and waits while the peer allows no more. The peer sees it with its first bytes.
func (c *Conn) OpenStream(ctx context.Context) (net.Conn, error) {
	qs, err := c.qc.OpenStreamSync(ctx)
	if err != nil {
		return nil, fmt.Errorf("quic: open stream: %w", plain(err))
	}
	return c.add(qs), nil
}

// AcceptStream returns the next stream that the peer opened.
func (c *Conn) AcceptStream(ctx context.Context) (net.Conn, error) {
	qs, err := c.qc.AcceptStream(ctx)
	if err != nil {
		return nil, fmt.Errorf("quic: accept stream: %w", plain(err))
	}
	return c.add(qs), nil
}

// ConnectionState says who the peer is.
func (c *Conn) ConnectionState() tls.ConnectionState { return c.qc.ConnectionState().TLS }

// PeerIdentified lets the receive window of an accepted connection grow beyond Config.InitialWindow. It may be called at
// any time, and does nothing on a connection that this end dialed.
func (c *Conn) PeerIdentified() {
	if c.identified != nil {
		c.identified.add(c.qc)
	}
}

// Migrate moves a dialed connection to a UDP socket of its own choosing anew, say because a better network has come up. A
// change of address that happens to the connection needs no call: the peer follows by itself.
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
	s.tolerant()
	if err := c.moveTo(ctx, s); err != nil {
		s.close()
		return fmt.Errorf("quic: migrate: %w", plain(err))
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
	// The sockets before this one stay: packets may be on their way to them.
	c.mu.Lock()
	c.sockets = append(c.sockets, s)
	c.mu.Unlock()
	return path.Switch()
}

// Close ends the connection with all its streams. It waits, no longer than Config.Linger, until the peer has read what was
// written.
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
		if !c.allRead() {
			code, why = codeHasty, "closed before all was read"
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

// allRead waits for the peer's receipts, one byte for each stream.
func (c *Conn) allRead() bool {
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

// acknowledge tells the peer that one more stream was read to its end, or will not be read any further. A receipt that
// cannot be sent makes the peer's Close wait for its Linger, and no worse.
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
