package transport

import (
	"context"
	"crypto/tls"
	"net"
)

// Transport dials and listens. Several goroutines may use it.
type Transport interface {
	// Scheme is the part of an address before ://, such as tcp, tls, unix, memory or quic.
	Scheme() string

	// Dial connects to addr. addr has no scheme; for unix it is a path. The returned Conn is ready for Write.
	Dial(ctx context.Context, addr string) (Conn, error)

	// Listen binds addr. If addr is in use, the error contains addr.
	Listen(ctx context.Context, addr string) (Listener, error)
}

// Conn is one connection and its first stream. One Read and one Write may run at the same time. Deadlines work as in net.Conn.
// Close closes the whole connection and unblocks Read and Write. The peer can still read the bytes that were written before
// Close. The end that dialed must write first, because over QUIC Accept returns a connection only after bytes have arrived.
//
// Some Conns implement more interfaces, which a type assertion finds: HalfCloser (the end of one direction), Multi (several
// streams), Secured (TLS), Restricted (receive windows that start small).
type Conn = net.Conn

// Listener accepts connections until Close. After Close, Accept returns net.ErrClosed.
type Listener interface {
	Accept(ctx context.Context) (Conn, error)
	Addr() net.Addr
	Close() error
}

// HalfCloser is a Conn that can end the direction in which it writes and still read. After the last byte, the peer's Read returns
// io.EOF. Conns of tcp, tls, unix, memory and quic have it.
type HalfCloser interface {
	CloseWrite() error
}

// Multi is a Conn that can carry more streams than the first one. Close of a stream closes only that stream. The peer may see
// a new stream only after bytes were written to the stream.
type Multi interface {
	OpenStream(ctx context.Context) (net.Conn, error)
	AcceptStream(ctx context.Context) (net.Conn, error)
}

// Secured is a Conn with TLS. The connection state has the peer's certificate.
type Secured interface {
	ConnectionState() tls.ConnectionState
}

// Negotiator is a Transport that can agree with the peer on a protocol during the TLS handshake (ALPN, RFC 7301).
type Negotiator interface {
	// WithALPN returns a Transport that offers the protocols, the preferred one first, and as a server chooses from them.
	WithALPN(protocols ...string) Transport
}

// Named is a Transport that verifies servers. Endpoints that a client finds by a name are dialed by their IP address.
type Named interface {
	// WithServerName returns a Transport whose Dial verifies that the server's certificate is for name, instead of the host in
	// the address.
	WithServerName(name string) Transport
}

// Restricted is an accepted Conn that buffers few bytes from its peer until PeerIdentified is called. A server calls
// PeerIdentified after it has checked the peer's credentials.
type Restricted interface {
	PeerIdentified()
}
