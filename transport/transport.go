package transport

import (
	"context"
	"crypto/tls"
	"net"
)

// Transport dials and listens. Implementations are safe for use by many goroutines.
type Transport interface {
	// Scheme is the part of an address before ://, such as tcp, tls, unix, memory or quic.
	Scheme() string

	// Dial connects to addr, which has no scheme and is a path for unix. The Conn that it returns is ready for Write.
	Dial(ctx context.Context, addr string) (Conn, error)

	// Listen binds addr. If the address is in use, the error names it.
	Listen(ctx context.Context, addr string) (Listener, error)
}

// Conn is one connection, and its first stream. Read and Write may overlap; each is for one goroutine at a time. Deadlines
// work as those of net.Conn. Close closes the whole connection and unblocks Read and Write; a peer that reads still receives
// the bytes written before. The end that dialed writes first: over QUIC, Accept returns a connection once bytes arrived on it.
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

// Multi is a Conn that can carry more streams beside its first. A stream's Close closes that stream only. The peer may see a
// stream only after bytes were written to it.
type Multi interface {
	OpenStream(ctx context.Context) (net.Conn, error)
	AcceptStream(ctx context.Context) (net.Conn, error)
}

// Secured is a Conn with TLS. Its state has the peer's certificate.
type Secured interface {
	ConnectionState() tls.ConnectionState
}

// Restricted is an accepted Conn that buffers little for its peer until PeerIdentified is called. A server calls it once it
// has checked the peer's credentials.
type Restricted interface {
	PeerIdentified()
}
