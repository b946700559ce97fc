package tcp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"example.com/ferry/transport"
	"example.com/ferry/transport/internal/accept"
)

// Config configures a Transport. The zero value works for tcp, and for dialing tls.
type Config struct {
	// KeepAlive is how long a connection is silent before the kernel sends a probe. Three probes without a response end the
	// connection. Zero means 15 s; negative means never.
	KeepAlive time.Duration `yaml:"keep_alive,omitempty"`

	// HandshakeTimeout bounds the TLS handshake of one connection. Zero means 10 s.
	HandshakeTimeout time.Duration `yaml:"handshake_timeout,omitempty"`

	// MaxHandshakes bounds the TLS handshakes in progress. Further connections wait, and a client that is silent for a second meanwhile is
	// disconnected, or sooner while most are silent. Zero means 256.
	MaxHandshakes int `yaml:"max_handshakes,omitempty"`

	// ClientTLS configures Dial. Nil means the system's root certificates. Versions below TLS 1.3 are never used.
	ClientTLS *tls.Config `yaml:"-"`

	// ServerTLS configures Listen and needs a certificate. Its ClientAuth decides whether clients must present certificates.
	ServerTLS *tls.Config `yaml:"-"`

	// Listen binds addresses. Nil means the operating system.
	Listen transport.ListenFunc `yaml:"-"`
}

// Transport dials and listens on TCP, with or without TLS.
type Transport struct {
	cfg    Config
	secure bool
	alpn   []string
	server string // name that servers' certificates must have; empty means the host in the address
}

var (
	_ transport.Transport  = (*Transport)(nil)
	_ transport.Negotiator = (*Transport)(nil)
	_ transport.Named      = (*Transport)(nil)
	_ transport.Pollable   = (*Transport)(nil)
)

// New returns the transport of the scheme tcp. A nil c means defaults.
func New(c *Config) *Transport { return newTransport(c, false) }

// NewTLS returns the transport of the scheme tls: TLS 1.3. Dial verifies the server's certificate unless ClientTLS disables
// that. A nil c means defaults, with which the transport can dial but not listen.
func NewTLS(c *Config) *Transport { return newTransport(c, true) }

func newTransport(c *Config, secure bool) *Transport {
	t := &Transport{secure: secure}
	if c != nil {
		t.cfg = *c
	}
	if t.cfg.KeepAlive == 0 {
		t.cfg.KeepAlive = 15 * time.Second
	}
	if t.cfg.HandshakeTimeout <= 0 {
		t.cfg.HandshakeTimeout = 10 * time.Second
	}
	if t.cfg.MaxHandshakes <= 0 {
		t.cfg.MaxHandshakes = 256
	}
	return t
}

// Scheme returns tcp or tls.
func (t *Transport) Scheme() string {
	if t.secure {
		return "tls"
	}
	return "tcp"
}

// WithALPN returns a Transport with the same configuration, whose TLS handshakes agree on one of the protocols. They replace
// NextProtos of the configuration. Without TLS they have no effect.
func (t *Transport) WithALPN(protocols ...string) transport.Transport {
	with := *t
	with.alpn = protocols
	return &with
}

// WithServerName returns a Transport with the same configuration, whose Dial verifies that the server's certificate is for name. The
// ServerName of ClientTLS goes before it. Without TLS it has no effect.
func (t *Transport) WithServerName(name string) transport.Transport {
	with := *t
	with.server = name
	return &with
}

func (t *Transport) keepAlive() net.KeepAliveConfig {
	k := t.cfg.KeepAlive
	return net.KeepAliveConfig{Enable: k > 0, Idle: k, Interval: max(k/3, time.Second), Count: 3}
}

// Dial connects to host:port. With tls, Dial returns after it has completed the handshake and verified the certificate.
func (t *Transport) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	d := net.Dialer{KeepAliveConfig: t.keepAlive()}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("tcp: dial %s: %w", addr, err)
	}
	if !t.secure {
		return conn, nil
	}
	cfg := minTLS13(t.cfg.ClientTLS, t.alpn)
	if cfg.ServerName == "" {
		cfg.ServerName = t.server
	}
	if cfg.ServerName == "" {
		// DialContext has already parsed the address, so SplitHostPort cannot fail.
		cfg.ServerName, _, _ = net.SplitHostPort(addr)
	}
	ctx, cancel := context.WithTimeout(ctx, t.cfg.HandshakeTimeout)
	defer cancel()
	secured := tls.Client(conn, cfg)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("tcp: tls handshake with %s: %w", addr, err)
	}
	return secured, nil
}

// Socket returns what Listen would bind.
func (t *Transport) Socket(addr string) (transport.Socket, error) {
	s := transport.Socket{Network: "tcp", Address: addr}
	if t.secure {
		if !hasCertificate(t.cfg.ServerTLS) {
			return s, noCertificate(addr)
		}
		s.TLS = minTLS13(t.cfg.ServerTLS, t.alpn)
	}
	return s, nil
}

func noCertificate(addr string) error {
	return fmt.Errorf("tcp: listen tls on %s: no server certificate: set Config.ServerTLS", addr)
}

// Listen binds host:port. Port 0 binds a free port, which Addr of the listener returns.
func (t *Transport) Listen(ctx context.Context, addr string) (transport.Listener, error) {
	if t.secure && !hasCertificate(t.cfg.ServerTLS) {
		return nil, noCertificate(addr)
	}
	lc := net.ListenConfig{KeepAliveConfig: t.keepAlive()}
	l, err := t.cfg.Listen.Bind(ctx, &lc, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("tcp: address %s is in use: stop the program that listens there, or choose another address: %w", addr, err)
	}
	if err != nil {
		return nil, fmt.Errorf("tcp: listen on %s: %w", addr, err)
	}
	if !t.secure {
		return accept.New(l, accept.Handshake{}), nil
	}
	cfg := minTLS13(t.cfg.ServerTLS, t.alpn)
	return accept.New(l, accept.Handshake{
		Timeout: t.cfg.HandshakeTimeout,
		Max:     t.cfg.MaxHandshakes,
		Do: func(ctx context.Context, conn net.Conn) (net.Conn, error) {
			secured := tls.Server(conn, cfg)
			return secured, secured.HandshakeContext(ctx)
		},
	}), nil
}

func hasCertificate(c *tls.Config) bool {
	return c != nil && (len(c.Certificates) > 0 || c.GetCertificate != nil || c.GetConfigForClient != nil)
}

func minTLS13(c *tls.Config, alpn []string) *tls.Config {
	if c == nil {
		c = &tls.Config{}
	}
	c = c.Clone()
	c.MinVersion = tls.VersionTLS13
	if len(alpn) > 0 {
		c.NextProtos = alpn
	}
	if forClient := c.GetConfigForClient; forClient != nil {
		c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			chosen, err := forClient(hello)
			if chosen == nil || err != nil {
				return nil, err
			}
			return minTLS13(chosen, alpn), nil
		}
	}
	return c
}
