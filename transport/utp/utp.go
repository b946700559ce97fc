//go:build utp && cgo

package utp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
	"time"

	utp "github.com/anacrolix/go-libutp"

	"example.com/ferry/transport"
)

// Transport dials and listens on uTP. Its outgoing connections share a UDP socket, which is open while one of them is.
type Transport struct {
	cfg   Config
	dials chan struct{} // has a place for each Dial in progress

	mu      sync.Mutex
	sockets map[string]*socket // for Dial, by network; may be closed
}

// New returns the transport. A nil c means defaults.
func New(c *Config) *Transport {
	cfg := c.withDefaults()
	return &Transport{cfg: cfg, dials: make(chan struct{}, cfg.MaxDials), sockets: make(map[string]*socket)}
}

func (c *Config) withDefaults() Config {
	var out Config
	if c != nil {
		out = *c
	}
	if out.HandshakeTimeout <= 0 {
		out.HandshakeTimeout = 10 * time.Second
	}
	if out.MaxDials <= 0 {
		out.MaxDials = 4
	}
	if out.Linger <= 0 {
		out.Linger = 5 * time.Second
	}
	return out
}

// Descriptor returns transport.UTP.
func Descriptor() transport.Descriptor { return transport.UTP }

// Dial connects to host:port.
func (t *Transport) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	conn, err := t.dial(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("utp: dial %s: %w", addr, err)
	}
	return conn, nil
}

func (t *Transport) dial(ctx context.Context, addr string) (transport.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case t.dials <- struct{}{}:
		defer func() { <-t.dials }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, t.cfg.HandshakeTimeout)
	defer cancel()
	to, err := resolve(ctx, addr)
	if err != nil {
		return nil, err
	}
	network, local := "udp4", "0.0.0.0:0"
	if to.Addr().Is6() {
		network, local = "udp6", "[::]:0"
	}
	s, err := t.socket(network, local)
	if err != nil {
		return nil, err
	}
	c, err := s.lib.DialContext(ctx, "", to.String())
	if err != nil {
		s.done()
		return nil, err
	}
	return newConn(c, s, t.cfg.Linger), nil
}

// resolve returns the first address of host:port.
func resolve(ctx context.Context, addr string) (netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	return netip.AddrPortFrom(ips[0].Unmap(), uint16(port)), nil
}

// socket returns the open socket of the network for Dial. The caller calls done.
func (t *Transport) socket(network, local string) (*socket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.sockets[network]; s != nil && s.use() {
		return s, nil
	}
	lib, err := utp.NewSocket(network, local)
	if err != nil {
		return nil, err
	}
	lib.SetSyncFirewallCallback(func(net.Addr) bool { return true }) // it accepts no connection
	s := newSocket(lib)
	t.sockets[network] = s
	return s, nil
}

// Listen binds host:port. Port 0 binds a free port, which Addr of the listener returns.
func (t *Transport) Listen(_ context.Context, addr string) (transport.Listener, error) {
	lib, err := utp.NewSocket("udp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("utp: address %s is in use: stop the program that listens there, or choose another address: %w", addr, err)
	}
	if err != nil {
		return nil, fmt.Errorf("utp: listen on %s: %w", addr, err)
	}
	return newListener(newSocket(lib), t.cfg.Linger), nil
}

// socket is a UDP socket that connections share. The last user closes it.
type socket struct {
	lib *utp.Socket

	mu    sync.Mutex
	users int
}

// newSocket returns a socket with one user.
func newSocket(lib *utp.Socket) *socket { return &socket{lib: lib, users: 1} }

// use adds a user. It returns false if the socket is closed.
func (s *socket) use() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		return false
	}
	s.users++
	return true
}

// done removes a user.
func (s *socket) done() {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if last {
		_ = s.lib.Close()
	}
}
