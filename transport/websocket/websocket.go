package websocket

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"example.com/ferry/transport"
)

// Config configures a Transport. The zero value works for ws, and for dialing wss.
type Config struct {
	// KeepAlive is how long a connection is silent before the kernel sends a probe. Three probes without a response end the
	// connection. Zero means 15 s; negative means never.
	KeepAlive time.Duration `yaml:"keep_alive,omitempty"`

	// HandshakeTimeout bounds the handshakes of TLS and of WebSocket together. Zero means 10 s.
	HandshakeTimeout time.Duration `yaml:"handshake_timeout,omitempty"`

	// MaxHandshakes bounds the handshakes in progress; a further connection evicts the oldest. Zero means 256.
	MaxHandshakes int `yaml:"max_handshakes,omitempty"`

	// Linger is how long Close waits for the peer's close frame, after which no byte is lost. Zero means 2 s.
	Linger time.Duration `yaml:"linger,omitempty"`

	// Origins lists the hosts whose pages may connect from a browser, beside the host of the request itself. A * stands for any
	// characters but a slash. Requests without Origin are not from a page, and are always allowed.
	Origins []string `yaml:"origins,omitempty"`

	// ClientTLS configures Dial. Nil means the system's root certificates. Versions below TLS 1.2 are never used.
	ClientTLS *tls.Config `yaml:"-"`

	// ServerTLS configures Listen and needs a certificate. Its ClientAuth decides whether clients must present certificates.
	ServerTLS *tls.Config `yaml:"-"`

	// Listen binds addresses. Nil means the operating system.
	Listen transport.ListenFunc `yaml:"-"`
}

// Transport dials and listens on WebSockets, with or without TLS.
type Transport struct {
	cfg    Config
	secure bool
}

var _ transport.Transport = (*Transport)(nil)

// New returns the transport of the scheme ws. A nil c means defaults.
func New(c *Config) *Transport { return newTransport(c, false) }

// NewTLS returns the transport of the scheme wss. Dial verifies the server's certificate unless ClientTLS disables that. A nil c
// means defaults, with which the transport can dial but not listen.
func NewTLS(c *Config) *Transport { return newTransport(c, true) }

func newTransport(c *Config, secure bool) *Transport {
	t := &Transport{secure: secure}
	if c != nil {
		t.cfg = *c
	}
	t.cfg.KeepAlive = cmp.Or(t.cfg.KeepAlive, 15*time.Second)
	if t.cfg.HandshakeTimeout <= 0 {
		t.cfg.HandshakeTimeout = 10 * time.Second
	}
	if t.cfg.MaxHandshakes <= 0 {
		t.cfg.MaxHandshakes = 256
	}
	if t.cfg.Linger <= 0 {
		t.cfg.Linger = 2 * time.Second
	}
	return t
}

// Scheme returns ws or wss.
func (t *Transport) Scheme() string {
	if t.secure {
		return "wss"
	}
	return "ws"
}

func (t *Transport) keepAlive() net.KeepAliveConfig {
	k := t.cfg.KeepAlive
	return net.KeepAliveConfig{Enable: k > 0, Idle: k, Interval: max(k/3, time.Second), Count: 3}
}

// Dial connects to host:port or host:port/path. It uses the proxy of the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), and follows no
// redirect.
func (t *Transport) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.HandshakeTimeout)
	defer cancel()
	var raw net.Conn // the TCP connection, to the server or to a proxy
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	dialer := net.Dialer{KeepAliveConfig: t.keepAlive()}
	client := &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment,
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dialer.DialContext(ctx, network, addr)
				raw = conn
				return conn, err
			},
			TLSClientConfig:        minTLS12(t.cfg.ClientTLS),
			Protocols:              &protocols,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ws, resp, err := websocket.Dial(ctx, t.Scheme()+"://"+addr, &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		return nil, fmt.Errorf("websocket: dial %s://%s: %w", t.Scheme(), addr, err)
	}
	return newConn(ws, raw, resp.TLS, t.cfg.Linger), nil
}

// Listen binds host:port, and accepts WebSockets at the path of host:port/path; without one, at /. Port 0 binds a free port, which
// Addr of the listener returns.
func (t *Transport) Listen(ctx context.Context, addr string) (transport.Listener, error) {
	if c := t.cfg.ServerTLS; t.secure && (c == nil || len(c.Certificates) == 0 && c.GetCertificate == nil && c.GetConfigForClient == nil) {
		return nil, fmt.Errorf("websocket: listen wss on %s: no server certificate: set Config.ServerTLS", addr)
	}
	host, path, _ := strings.Cut(addr, "/")
	lc := net.ListenConfig{KeepAliveConfig: t.keepAlive()}
	l, err := t.cfg.Listen.Bind(ctx, &lc, "tcp", host)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("websocket: address %s is in use: stop the program that listens there, or choose another address: %w", addr, err)
	}
	if err != nil {
		return nil, fmt.Errorf("websocket: listen on %s: %w", addr, err)
	}
	return t.serve(l, "/"+path), nil
}

func minTLS12(c *tls.Config) *tls.Config {
	if c == nil {
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	c = c.Clone()
	c.MinVersion = max(c.MinVersion, tls.VersionTLS12)
	return c
}
