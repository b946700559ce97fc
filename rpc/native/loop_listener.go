package native

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"

	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/peerloop"
	"example.com/ferry/loop"
	"example.com/ferry/loop/tlslayer"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
)

// loopListener serves the connections of a socket on event loops.
type loopListener struct {
	*server
	group  *loop.Group
	inner  *loop.Listener
	cfg    peerloop.Config[*receiver]
	layers *tlslayer.Layers // nil without TLS
	bound  *tlslayer.Bound
	secure *tls.Config
}

var _ call.Listener = (*loopListener)(nil)

// listenOnLoops serves calls on a socket.
func listenOnLoops(ctx context.Context, v *server, s transport.Socket) (call.Listener, error) {
	group, err := loop.New(&loop.Config{HandshakeTimeout: v.cfg.HandshakeTimeout})
	if err != nil {
		return nil, fmt.Errorf("rpc: listen on %s: %w", s.Address, err)
	}
	l := &loopListener{server: v, group: group, secure: s.TLS, cfg: peerloop.Config[*receiver]{
		Table: &frameHandlers, MaxFrame: maxFrame,
		HandshakeTimeout: v.cfg.HandshakeTimeout, Silence: 3 * v.cfg.Heartbeat, Write: v.cfg.WriteTimeout,
	}}
	if l.secure != nil {
		l.layers = tlslayer.New(len(group.Loops()), nil)
		l.bound = l.layers.Bound()
	}
	if err = l.bind(ctx, s); err != nil {
		_ = group.Shutdown(ctx)
		return nil, fmt.Errorf("rpc: listen on %s: %w", s.Address, err)
	}
	return l, nil
}

// bind begins to accept.
func (l *loopListener) bind(ctx context.Context, s transport.Socket) (err error) {
	if s.Network == "unix" {
		if l.inner, err = l.group.Listen(loop.Addr{Unix: s.Address}, l.accept); err == nil {
			err = os.Chmod(s.Address, s.Mode)
		}
		return err
	}
	host, service, err := net.SplitHostPort(s.Address)
	if err != nil {
		return err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, s.Network, service)
	if err != nil {
		return err
	}
	ips := []netip.Addr{netip.IPv6Unspecified(), netip.IPv4Unspecified()} // of all addresses, the first accepts IPv4 too
	if host != "" {
		if ips, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host); err != nil {
			return err
		}
		slices.SortStableFunc(ips, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() }) // as net.Listen: IPv4 first
	}
	for _, ip := range ips {
		at := loop.Addr{TCP: netip.AddrPortFrom(ip.Unmap(), uint16(port))}
		if l.inner, err = l.group.Listen(at, l.accept); err == nil || !errors.Is(err, syscall.EAFNOSUPPORT) {
			break
		}
	}
	return err
}

// accept is called on the loop that drives the connection.
func (l *loopListener) accept(c *loop.Conn) loop.Handler {
	if l.layers == nil {
		return l.handler(c)
	}
	c.SetLayer(l.layers.Server(c.Loop(), l.secure, l.bound), l.handler)
	return loop.Base{}
}

// handler returns the handler of a connection, after its TLS handshake.
func (l *loopListener) handler(c *loop.Conn) loop.Handler {
	client := &loopClient{server: l.server}
	client.remote.Addr = c.RemoteAddr()
	return peerloop.New(c, &l.cfg, peer.Config{Lowest: wire.CallVersion, Remote: "client", WriteBuffer: writeBuffer, OnClosing: client.onClosing}, client)
}

func (l *loopListener) Addr() net.Addr { return l.inner.Addr() }

// Drain stops accepting, and waits until all calls have ended.
func (l *loopListener) Drain(ctx context.Context) error {
	_ = l.inner.Close()
	err := l.drain(ctx)
	if e := l.group.Shutdown(ctx); err == nil {
		err = e
	}
	return err
}

// Close closes all connections at once.
func (l *loopListener) Close() error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = l.Drain(ended)
	return nil
}

// loopClient is a connection that a loop drives.
type loopClient struct {
	session
	server *server
	limits wire.CallLimits
}

var _ peerloop.Client[*receiver] = (*loopClient)(nil)

// Identify checks the credentials of HELLO. Authenticate is the user's code, so it does not run on the loop.
func (c *loopClient) Identify(p *peer.Conn, h wire.HelloFrame, identified func(error)) {
	c.limits = h.Limits
	check := func() {
		identity, err := c.server.identify(h, c.remote.Addr, p)
		c.remote.Identity = identity
		identified(err)
	}
	if c.server.cfg.Authenticate == nil {
		check()
		return
	}
	h.Token = bytes.Clone(h.Token)
	go check()
}

// Welcome begins the session.
func (c *loopClient) Welcome(p *peer.Conn) (*receiver, error) {
	c.remote.TLS = p.TLS()
	if err := c.server.admit(&c.session, p, c.limits, c.remote); err != nil {
		return nil, err
	}
	return c.newReceiver(), nil
}
