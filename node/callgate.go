package node

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/node/config"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/rpc/native"
	"example.com/ferry/rpc/relay"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

// callGate is a listener of ordinary clients of gRPC and of JSON over HTTP: it passes their calls to the clients of the node that serve them. A client has a connection of its
// own to the broker, within the process and with its credentials, so that identity, grants and limits are those of a client of ferry.
type callGate struct {
	*broker.Listener
	public []call.Listener // of gRPC and of JSON
}

var _ server = (*callGate)(nil)

// listenCalls serves the clients of an address.
func (n *Node) listenCalls(l *listener, t transport.Transport, addr string, validate broker.Validation, cfg *config.Config) error {
	if negotiator, ok := t.(transport.Negotiator); ok {
		t = negotiator.WithALPN("h2", "http/1.1")
	}
	bound, err := t.Listen(context.Background(), addr)
	if err != nil {
		return err
	}
	inside := &gateListener{addr: bound.Addr(), dialed: make(chan transport.Conn), closed: make(chan struct{})}
	protocol := native.Protocol{StreamWindow: int(cfg.Limits.CallStreamWindow), MaxMessage: maxCallMessage, Log: n.log}
	http2, http1, identified := relay.Split(bound, cfg.Limits.HandshakeTimeout, cfg.Limits.MaxConnections)
	places := 2 * cfg.Limits.MaxConnections // of clients with a connection to the broker, which bounds them, and of those without one yet
	gate := &relay.Gate{Dial: func(ctx context.Context, token string, peer *call.Peer) (call.Conn, error) {
		p := protocol
		p.Token, p.ClientName = []byte(token), "ordinary client"
		c, err := p.Dial(ctx, &gateDialer{listener: inside, peer: peer}, inside.addr.String())
		if err == nil {
			identified(peer.Addr)
		}
		return c, err
	}}
	json := jsonrpc.Protocol{MaxConns: places, MaxMessage: maxCallMessage}
	g := &callGate{Listener: n.broker.NewListener(inside, validate)}
	for _, p := range []struct {
		protocol call.Protocol
		of       transport.Listener
	}{
		{grpc.Protocol{Config: &grpc.Config{MaxConnections: places, MaxMessage: maxCallMessage, Others: json.OnHTTP2(gate)}}, http2},
		{json, http1},
	} {
		l, err := p.protocol.Listen(context.Background(), boundTransport{t, p.of}, addr, gate)
		if err != nil {
			closeQuietly(bound)
			return err
		}
		g.public = append(g.public, l)
	}
	l.bound, l.served = bound, g
	return nil
}

// Drain lets the calls in progress end, and then the clients.
func (g *callGate) Drain(ctx context.Context) error {
	return errors.Join(g.drain(ctx), g.Listener.Drain(ctx))
}

// drain lets the calls in progress end.
func (g *callGate) drain(ctx context.Context) error {
	errs := make([]error, len(g.public))
	var all sync.WaitGroup
	for i, l := range g.public {
		all.Go(func() { errs[i] = l.Drain(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// gateLead is how long the clients of gates have to learn of the drain before the broker refuses their calls.
const gateLead = time.Second

// drainGates begins to drain the listeners of ordinary clients of gRPC, before the broker is shut down. wait returns when they have drained.
func (n *Node) drainGates(ctx context.Context) (wait func() error) {
	var drains []chan error
	early, cancel := context.WithTimeout(ctx, gateLead)
	defer cancel()
	for _, l := range n.listeners {
		if g, ok := l.served.(*callGate); ok {
			drained := make(chan error, 1)
			go func() { drained <- g.drain(ctx) }()
			drains = append(drains, drained)
		}
	}
	var errs []error
	for _, drained := range drains {
		select {
		case err := <-drained:
			errs = append(errs, err)
			drained <- nil
		case <-early.Done():
		}
	}
	return func() error {
		for _, drained := range drains {
			errs = append(errs, <-drained)
		}
		return errors.Join(errs...)
	}
}

// boundTransport listens on what is bound already, so that the owner can close it.
type boundTransport struct {
	transport.Transport
	bound transport.Listener
}

// Listen returns the bound listener.
func (t boundTransport) Listen(context.Context, string) (transport.Listener, error) {
	return t.bound, nil
}

// gateListener has the connections of gates to the broker.
type gateListener struct {
	addr   net.Addr
	dialed chan transport.Conn
	closed chan struct{}
	once   sync.Once
}

var _ transport.Listener = (*gateListener)(nil)

// Accept returns the next connection.
func (l *gateListener) Accept(ctx context.Context) (transport.Conn, error) {
	select {
	case c := <-l.dialed:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Addr returns the address of the clients' listener.
func (l *gateListener) Addr() net.Addr { return l.addr }

// Close ends Accept.
func (l *gateListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// gateDialer connects one client to the broker.
type gateDialer struct {
	listener *gateListener
	peer     *call.Peer
}

var _ transport.Transport = (*gateDialer)(nil)

// Scheme returns memory.
func (*gateDialer) Scheme() string { return "memory" }

// Listen returns an error.
func (*gateDialer) Listen(context.Context, string) (transport.Listener, error) {
	return nil, errors.ErrUnsupported
}

// Dial returns one end of a connection. The broker gets the other end, with the address and the certificate of the client.
func (d *gateDialer) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	pair := memory.New(nil)
	l, err := pair.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer closeQuietly(l)
	dialed, err := pair.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	accepted, err := l.Accept(ctx)
	if err != nil {
		return nil, err
	}
	accepted = &gateConn{accepted, d.peer.Addr}
	if d.peer.TLS != nil {
		accepted = &securedGateConn{accepted, *d.peer.TLS}
	}
	select {
	case d.listener.dialed <- accepted:
		return dialed, nil
	case <-d.listener.closed:
		err = net.ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	closeQuietly(dialed)
	closeQuietly(accepted)
	return nil, err
}

// gateConn comes from the address of the client.
type gateConn struct {
	transport.Conn
	client net.Addr
}

// RemoteAddr returns the address of the client.
func (c *gateConn) RemoteAddr() net.Addr { return c.client }

// securedGateConn has the certificate of the client.
type securedGateConn struct {
	transport.Conn
	state tls.ConnectionState
}

var _ transport.Secured = (*securedGateConn)(nil)

// ConnectionState returns the state of the client's connection.
func (c *securedGateConn) ConnectionState() tls.ConnectionState { return c.state }
