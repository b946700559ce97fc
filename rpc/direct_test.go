package rpc_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
)

// direct passes calls from Dial to Listen with the same address. It uses no transport. newDirect makes one.
type direct struct {
	// Inline runs unary handlers on the goroutine of their caller. Their calls do not return before the handler, whatever ctx says.
	Inline bool
	// Numbered makes connections number their calls, as protocols with frames do.
	Numbered bool

	mu        sync.Mutex
	listeners map[string]*directListener
	dials     atomic.Int64
}

var _ call.Protocol = (*direct)(nil)

// newDirect returns one without listeners.
func newDirect() *direct { return &direct{listeners: make(map[string]*directListener)} }

// Name implements call.Protocol.
func (p *direct) Name() string { return "test" }

// Dials returns how often Dial was called.
func (p *direct) Dials() int { return int(p.dials.Load()) }

// Listen implements call.Protocol.
func (p *direct) Listen(_ context.Context, _ transport.Transport, addr string, s call.Service) (call.Listener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listeners[addr] != nil {
		return nil, fmt.Errorf("direct: listen on %s: the address is in use", addr)
	}
	l := &directListener{protocol: p, addr: addr, service: s, conns: make(map[*directConn]struct{})}
	l.changed.L = &l.mu
	p.listeners[addr] = l
	return l, nil
}

// Dial implements call.Protocol.
func (p *direct) Dial(ctx context.Context, _ transport.Transport, addr string) (call.Conn, error) {
	p.dials.Add(1)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	l := p.listeners[addr]
	p.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("direct: dial %s: connection refused", addr)
	}
	return l.accept()
}

// directListener is a server's address.
type directListener struct {
	protocol *direct
	addr     string
	service  call.Service

	mu      sync.Mutex
	conns   map[*directConn]struct{}
	active  int       // calls in progress
	changed sync.Cond // a call has ended, or a connection
	closed  bool
}

type directAddr string

func (a directAddr) Network() string { return "test" }
func (a directAddr) String() string  { return string(a) }

// Addr implements call.Listener.
func (l *directListener) Addr() net.Addr { return directAddr(l.addr) }

func (l *directListener) accept() (call.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("direct: dial %s: connection refused", l.addr)
	}
	c := &directConn{listener: l, closing: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	l.conns[c] = struct{}{}
	if l.protocol.Numbered {
		return &directNumbered{directConn: c}, nil
	}
	return c, nil
}

// stop takes the address away and tells clients to call elsewhere.
func (l *directListener) stop() {
	l.protocol.mu.Lock()
	if l.protocol.listeners[l.addr] == l {
		delete(l.protocol.listeners, l.addr)
	}
	l.protocol.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for c := range l.conns {
		c.stop()
	}
}

// Drain implements call.Listener.
func (l *directListener) Drain(ctx context.Context) error {
	l.stop()
	defer context.AfterFunc(ctx, l.wake)()
	l.mu.Lock()
	for l.active > 0 && ctx.Err() == nil {
		l.changed.Wait()
	}
	drained := l.active == 0
	l.mu.Unlock()
	_ = l.Close() // always nil
	if !drained {
		return ctx.Err()
	}
	return nil
}

// Close implements call.Listener.
func (l *directListener) Close() error {
	l.stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.lose()
	}
	return nil
}

// Break closes the connections, and clients may connect again.
func (l *directListener) Break() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.stop()
		c.lose()
	}
}

// begin counts a call on c, and reports false if c accepts no more.
func (l *directListener) begin(c *directConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.stopped {
		return false
	}
	l.active++
	c.active++
	return true
}

func (l *directListener) end(c *directConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active--
	if c.active--; c.active == 0 {
		l.changed.Broadcast()
	}
}

// wake lets Drain and Close check their conditions again.
func (l *directListener) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed.Broadcast()
}
