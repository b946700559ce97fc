package transport

import (
	"context"
	"crypto/tls"
	"net"
)

// Transport dials and listens. Implementations are safe for use by many goroutines.
type Transport interface {
	// Scheme is what stands before :// in an address: tcp, tls, unix, memory, quic.
	Scheme() string

	// Dial connects to addr (without scheme; for unix a path), and returns when the connection may be written to.
	Dial(ctx context.Context, addr string) (Conn, error)

	// Listen binds addr. A busy address is an error that names it.
	Listen(ctx context.Context, addr string) (Listener, error)
}

// Conn is one connection, and its first stream. Read and Write may overlap; each of them is for one goroutine at a time.
// Deadlines work as net.Conn's do. Close closes the whole connection, unblocking Read and Write; what was written before
// still arrives at a peer that reads. The end that dialed speaks first: over QUIC, Accept returns what something arrived on.
//
// Extra powers, found by assertion: Multi (several streams), Secured (TLS), Restricted (receive windows that start small),
// and CloseWrite() error, which all have.
type Conn = net.Conn

// Listener accepts connections until it is closed; then Accept gives net.ErrClosed.
type Listener interface {
	Accept(ctx context.Context) (Conn, error)
	Addr() net.Addr
	Close() error
}

// Multi is a Conn that carries more streams than its first. A stream's Close closes that stream only. A peer may see a
// stream only once something was written to it.
type Multi interface {
	OpenStream(ctx context.Context) (net.Conn, error)
	AcceptStream(ctx context.Context) (net.Conn, error)
}

// Secured is a Conn that knows who its peer is.
type Secured interface {
	ConnectionState() tls.ConnectionState
}

// Restricted is an accepted Conn that buffers little for its peer until PeerIdentified is called. A server calls it once it
// has checked the peer's credentials.
type Restricted interface {
	PeerIdentified()
}
