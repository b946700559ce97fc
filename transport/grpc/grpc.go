package grpc

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"example.com/ferry/internal/grpcwire"
	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/transport"
	"example.com/ferry/transport/tcp"
)

// Method is the path of the calls that carry connections.
const Method = "/ferry.Transport/Connect"

// Config configures a Transport. The zero value works for grpc, and for dialing grpcs.
type Config struct {
	// KeepAlive is how long a connection is silent before the kernel sends a probe. Three probes without a response end the
	// connection. Zero means 15 s; negative means never.
	KeepAlive time.Duration `yaml:"keep_alive,omitempty"`

	// HandshakeTimeout bounds the TLS handshake, and on a listener the time until the call arrives. Zero means 10 s.
	HandshakeTimeout time.Duration `yaml:"handshake_timeout,omitempty"`

	// MaxHandshakes bounds the handshakes in progress; a further connection evicts the oldest. Zero means 256.
	MaxHandshakes int `yaml:"max_handshakes,omitempty"`

	// Linger is how long a closed Conn continues to send what was written. Zero means 5 s.
	Linger time.Duration `yaml:"linger,omitempty"`

	// ClientTLS configures Dial. Nil means the system's root certificates.
	ClientTLS *tls.Config `yaml:"-"`

	// ServerTLS configures Listen and needs a certificate. Its ClientAuth decides whether clients must present certificates.
	ServerTLS *tls.Config `yaml:"-"`

	// Listen binds addresses. Nil means the operating system.
	Listen transport.ListenFunc `yaml:"-"`
}

// Transport dials and listens on gRPC, with or without TLS.
type Transport struct {
	cfg    Config
	scheme string
	below  transport.Transport
}

var _ transport.Transport = (*Transport)(nil)

// New returns the transport of the scheme grpc. A nil c means defaults.
func New(c *Config) *Transport {
	t := newTransport(c, "grpc")
	t.below = tcp.New(&tcp.Config{KeepAlive: t.cfg.KeepAlive, Listen: t.cfg.Listen})
	return t
}

// NewTLS returns the transport of the scheme grpcs. Dial verifies the server's certificate unless ClientTLS disables that. A nil c means
// defaults, with which the transport can dial but not listen.
func NewTLS(c *Config) *Transport {
	t := newTransport(c, "grpcs")
	t.below = tcp.NewTLS(&tcp.Config{
		KeepAlive: t.cfg.KeepAlive, HandshakeTimeout: t.cfg.HandshakeTimeout, MaxHandshakes: t.cfg.MaxHandshakes,
		ClientTLS: t.cfg.ClientTLS, ServerTLS: t.cfg.ServerTLS, Listen: t.cfg.Listen,
	}).WithALPN(grpcwire.ALPN)
	return t
}

func newTransport(c *Config, scheme string) *Transport {
	t := &Transport{scheme: scheme}
	if c != nil {
		t.cfg = *c
	}
	if t.cfg.HandshakeTimeout <= 0 {
		t.cfg.HandshakeTimeout = 10 * time.Second
	}
	if t.cfg.MaxHandshakes <= 0 {
		t.cfg.MaxHandshakes = 256
	}
	if t.cfg.Linger <= 0 {
		t.cfg.Linger = 5 * time.Second
	}
	return t
}

// Scheme returns grpc or grpcs.
func (t *Transport) Scheme() string { return t.scheme }

const (
	streamWindow = 256 << 10   // bytes that wait for Read
	idleTimeout  = time.Minute // time after which a listener closes a connection without streams
)

func (t *Transport) h2config() *h2conn.Config {
	return &h2conn.Config{HTTP2: http2.Config{StreamWindow: streamWindow}, HeaderTimeout: t.cfg.HandshakeTimeout}
}

// Dial connects to host:port and sends the call. It does not wait for the server's response, which some servers send with their first
// message: a server that refuses the call makes Read fail.
func (t *Transport) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	raw, err := t.below.Dial(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("grpc: %w", err)
	}
	c := &clientConn{}
	c.h2 = h2conn.Client(raw, t.h2config(), c)
	scheme := "http"
	if t.scheme == "grpcs" {
		scheme = "https"
	}
	c.h2.Lock()
	c.conn = newConn(c.h2, c.h2.HTTP2().Open(), true, t.cfg.Linger)
	e := c.conn.stream.BeginHeaders()
	e.Method([]byte("POST"))
	e.Scheme([]byte(scheme))
	e.Path([]byte(Method))
	e.Authority([]byte(addr))
	e.FieldString("content-type", grpcwire.ContentType)
	e.FieldString("te", "trailers")
	e.End(false)
	c.h2.Unlock()
	go func() { _ = c.h2.Serve() }() // not earlier: a connection that has ended opens no stream
	return c.conn.secured(), nil
}

// Listen binds host:port. Port 0 binds a free port, which Addr of the listener returns.
func (t *Transport) Listen(ctx context.Context, addr string) (transport.Listener, error) {
	below, err := t.below.Listen(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("grpc: %w", err)
	}
	return newListener(t, below), nil
}

// clientConn is the http2.Handler of a dialed Conn.
type clientConn struct {
	h2   *h2conn.Conn
	conn *conn
}

var _ http2.Handler = (*clientConn)(nil)

// Headers handles the response's head, and the trailers with the status of the call.
func (c *clientConn) Headers(_ *http2.Stream, h *http2.Head, end bool) {
	switch {
	case h.Status >= 100 && h.Status < 200:
	case !h.Trailers && h.Status != 200:
		c.conn.fail(fmt.Errorf("grpc: the server responds with the HTTP status %d: is it a server of gRPC?", h.Status))
	case end:
		c.conn.end(statusError(h))
	case !h.Trailers && !grpcwire.IsGRPC(h):
		c.conn.fail(fmt.Errorf("grpc: the server responds with content-type %.40q: is it a server of gRPC?", h.Get("content-type")))
	}
}

func (c *clientConn) Data(_ *http2.Stream, p []byte, end bool)     { c.conn.data(p, end) }
func (c *clientConn) Reset(_ *http2.Stream, why http2.StreamError) { c.conn.reset(why) }
func (c *clientConn) Writable(*http2.Stream)                       { c.conn.notify() }
func (c *clientConn) Sent(*http2.Stream)                           {}
func (c *clientConn) GoAway(uint32, http2.Code)                    {}
