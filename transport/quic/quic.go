package quic

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"

	"example.com/ferry/transport"
)

// ALPN is the name of the protocol in the TLS handshake. Both ends must use it.
const ALPN = "ferry/1"

// Config configures a Transport. The zero value works for dialing.
type Config struct {
	// IdleTimeout ends a connection on which no packet arrived for this long. The smaller value of both ends applies. It also
	// bounds how long a client may be without a network. Zero means 30 s.
	IdleTimeout time.Duration `yaml:"idle_timeout,omitempty"`

	// KeepAlive is how long a connection is silent before a packet is sent, which keeps it and its path through routers open.
	// Zero means 10 s; negative means never.
	KeepAlive time.Duration `yaml:"keep_alive,omitempty"`

	// HandshakeTimeout bounds the handshake, and the time from then to the dialer's first bytes. Zero means 10 s.
	HandshakeTimeout time.Duration `yaml:"handshake_timeout,omitempty"`

	// Linger bounds how long Close waits for the peer to read all bytes. Zero means 5 s; negative means not at all.
	Linger time.Duration `yaml:"linger,omitempty"`

	// StreamWindow bounds the bytes of one stream that the peer may send ahead of Read. 0 means 2 MiB.
	StreamWindow int `yaml:"stream_window,omitempty"`

	// ConnWindow bounds the bytes of all streams of one connection that the peer may send ahead of Read. A connection buffers
	// no more content; quic-go adds about 100 bytes for each STREAM frame, and stores a frame of 128 bytes or more in 1452. 0
	// means 8 MiB.
	ConnWindow int `yaml:"conn_window,omitempty"`

	// InitialWindow replaces ConnWindow on an accepted connection until Conn.PeerIdentified is called. After that the window
	// grows when it limits the peer's rate. A stream starts with a quarter of it. 0 means 64 KiB, or ConnWindow if that is less.
	InitialWindow int `yaml:"initial_window,omitempty"`

	// MaxStreams is how many streams the peer may have open in one connection. 0 means 256.
	MaxStreams int `yaml:"max_streams,omitempty"`

	maxSilent int // replaces the constant maxSilent in tests; 0 means the constant

	// ClientTLS configures Dial. Nil means the system's root certificates.
	ClientTLS *tls.Config `yaml:"-"`

	// ServerTLS configures Listen and needs a certificate. Its ClientAuth decides whether clients must present certificates.
	ServerTLS *tls.Config `yaml:"-"`

	// ListenUDP replaces net.ListenUDP in Listen if it is not nil: for a socket that another process has opened. released is called when
	// the socket is closed.
	ListenUDP func(address string) (conn *net.UDPConn, released func(), err error) `yaml:"-"`

	// ResetKey is the key for stateless resets, RFC 9000, section 10.3. When a server restarts with the same key, clients of
	// the earlier process immediately notice that their connections have ended. Without ResetKey they wait for IdleTimeout.
	ResetKey *[32]byte `yaml:"-"`
}

// Transport dials and listens with QUIC over UDP.
type Transport struct {
	cfg    Config
	server string // name that servers' certificates must have; empty means the host in the address
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Named     = (*Transport)(nil)
)

// New returns the transport of the scheme quic. A nil c means defaults, with which the transport can dial but not listen.
func New(c *Config) *Transport {
	t := &Transport{}
	if c != nil {
		t.cfg = *c
	}
	setDuration(&t.cfg.IdleTimeout, 30*time.Second)
	setDuration(&t.cfg.KeepAlive, 10*time.Second)
	setDuration(&t.cfg.HandshakeTimeout, 10*time.Second)
	setDuration(&t.cfg.Linger, 5*time.Second)
	setSize(&t.cfg.StreamWindow, 2<<20)
	setSize(&t.cfg.ConnWindow, 8<<20)
	setSize(&t.cfg.InitialWindow, 64<<10)
	t.cfg.InitialWindow = min(t.cfg.InitialWindow, t.cfg.ConnWindow)
	setSize(&t.cfg.MaxStreams, 256)
	return t
}

func setDuration(d *time.Duration, byDefault time.Duration) {
	if *d == 0 {
		*d = byDefault
	}
}

func setSize(n *int, byDefault int) {
	if *n <= 0 {
		*n = byDefault
	}
}

// WithServerName returns a Transport with the same configuration, whose Dial verifies that the server's certificate is for name. The
// ServerName of ClientTLS goes before it.
func (t *Transport) WithServerName(name string) transport.Transport {
	with := *t
	with.server = name
	return &with
}

// Scheme returns quic.
func (*Transport) Scheme() string { return "quic" }

// Dial connects to host:port. It returns after it has completed the handshake and verified the server's certificate. The
// returned Conn is a *Conn.
func (t *Transport) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	c, err := t.dial(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("quic: dial %s: %w", addr, err)
	}
	return c, nil
}

func (t *Transport) dial(ctx context.Context, addr string) (*Conn, error) {
	peer, host, err := resolveServer(ctx, addr)
	if err != nil {
		return nil, err
	}
	socket, err := openSocket()
	if err != nil {
		return nil, err
	}
	cfg := t.tls(t.cfg.ClientTLS)
	cfg.ServerName = cmp.Or(cfg.ServerName, t.server, host)
	qc, err := socket.Dial(ctx, peer, cfg, t.dialedConfig())
	if err != nil {
		socket.close()
		return nil, err
	}
	first, err := qc.OpenStreamSync(ctx)
	if err != nil {
		_ = qc.CloseWithError(codeClosed, "")
		socket.close()
		return nil, err
	}
	socket.tolerateLostRoutes()
	return newConn(qc, first, t.cfg.Linger, socket), nil
}

// Listen binds the UDP address host:port. Port 0 binds a free port, which Addr of the listener returns.
func (t *Transport) Listen(_ context.Context, addr string) (transport.Listener, error) {
	if s := t.cfg.ServerTLS; s == nil || (len(s.Certificates) == 0 && s.GetCertificate == nil && s.GetConfigForClient == nil) {
		return nil, fmt.Errorf("quic: listen on %s: no server certificate: set Config.ServerTLS", addr)
	}
	l, err := t.listen(addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("quic: address %s is in use: stop the program that listens there, or choose another address: %w", addr, err)
	}
	if err != nil {
		return nil, fmt.Errorf("quic: listen on %s: %w", addr, err)
	}
	return l, nil
}

func (t *Transport) listen(addr string) (*listener, error) {
	bind := t.cfg.ListenUDP
	if bind == nil {
		bind = listenUDP
	}
	conn, released, err := bind(addr)
	if err != nil {
		return nil, err
	}
	socket := newSocket(conn, 8)
	socket.released = released
	socket.StatelessResetKey = (*quic.StatelessResetKey)(t.cfg.ResetKey)
	socket.tolerateLostRoutes()
	l := newListener(socket, &t.cfg)
	if l.inner, err = socket.Listen(t.tls(t.cfg.ServerTLS), t.acceptedConfig(&l.identified)); err != nil {
		socket.close()
		return nil, err
	}
	l.running.Go(l.acceptAll)
	return l, nil
}

func (t *Transport) tls(c *tls.Config) *tls.Config {
	if c == nil {
		c = &tls.Config{}
	}
	c = c.Clone()
	c.MinVersion = tls.VersionTLS13
	c.NextProtos = []string{ALPN}
	if forClient := c.GetConfigForClient; forClient != nil {
		c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			chosen, err := forClient(hello)
			if chosen == nil || err != nil {
				return nil, err
			}
			return t.tls(chosen), nil
		}
	}
	return c
}

// dialedConfig returns quic-go's configuration for dialed connections. Their window need not start small, because the server has
// proved its identity in the handshake.
func (t *Transport) dialedConfig() *quic.Config {
	return &quic.Config{
		HandshakeIdleTimeout:           t.cfg.HandshakeTimeout / 2, // quic-go's bound on the whole handshake is twice this value
		MaxIdleTimeout:                 t.cfg.IdleTimeout,
		KeepAlivePeriod:                max(t.cfg.KeepAlive, 0),
		InitialStreamReceiveWindow:     uint64(t.cfg.StreamWindow) / 2,
		MaxStreamReceiveWindow:         uint64(t.cfg.StreamWindow),
		InitialConnectionReceiveWindow: uint64(t.cfg.ConnWindow) / 2,
		MaxConnectionReceiveWindow:     uint64(t.cfg.ConnWindow),
		MaxIncomingStreams:             int64(t.cfg.MaxStreams),
		MaxIncomingUniStreams:          1, // the stream for the peer's receipts
	}
}

// acceptedConfig returns quic-go's configuration for accepted connections.
func (t *Transport) acceptedConfig(identified *identifiedSet) *quic.Config {
	c := t.dialedConfig()
	c.InitialConnectionReceiveWindow = uint64(t.cfg.InitialWindow)
	c.InitialStreamReceiveWindow = min(uint64(t.cfg.InitialWindow), uint64(t.cfg.StreamWindow)) / 4
	c.AllowConnectionWindowIncrease = identified.allow
	return c
}

// resolveServer returns the address to dial and the name that the server's certificate must have. It prefers IPv4, because servers
// on localhost listen on IPv4.
func resolveServer(ctx context.Context, addr string) (*net.UDPAddr, string, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, "", err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "udp", service)
	if err != nil {
		return nil, "", err
	}
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return nil, "", err
	}
	best := ips[0]
	for _, ip := range ips {
		if ip.IP.To4() != nil {
			best = ip
			break
		}
	}
	return &net.UDPAddr{IP: best.IP, Zone: best.Zone, Port: port}, host, nil
}
