package rpctest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
)

// Protocol passes calls from Dial to Listen with the same address. It uses no transport. New makes one.
type Protocol struct {
	// Inline runs unary handlers on the goroutine of their caller. Their calls do not return before the handler, whatever ctx says.
	Inline bool
	// Numbered makes connections number their calls, as protocols with frames do.
	Numbered bool

	mu        sync.Mutex
	listeners map[string]*Listener
	dials     atomic.Int64
}

var _ call.Protocol = (*Protocol)(nil)

// New returns a Protocol without listeners.
func New() *Protocol { return &Protocol{listeners: make(map[string]*Listener)} }

// Name implements call.Protocol.
func (p *Protocol) Name() string { return "test" }

// Dials returns how often Dial was called.
func (p *Protocol) Dials() int { return int(p.dials.Load()) }

// Listen implements call.Protocol.
func (p *Protocol) Listen(_ context.Context, _ transport.Transport, addr string, s call.Service) (call.Listener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listeners[addr] != nil {
		return nil, fmt.Errorf("rpctest: listen on %s: the address is in use", addr)
	}
	l := &Listener{protocol: p, addr: addr, service: s, conns: make(map[*conn]struct{})}
	l.changed.L = &l.mu
	p.listeners[addr] = l
	return l, nil
}

// Dial implements call.Protocol.
func (p *Protocol) Dial(ctx context.Context, _ transport.Transport, addr string) (call.Conn, error) {
	p.dials.Add(1)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	l := p.listeners[addr]
	p.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("rpctest: dial %s: connection refused", addr)
	}
	return l.accept()
}

// Listener is a server's address.
type Listener struct {
	protocol *Protocol
	addr     string
	service  call.Service

	mu      sync.Mutex
	conns   map[*conn]struct{}
	active  int       // calls in progress
	changed sync.Cond // a call has ended, or a connection
	closed  bool
}

type addr string

func (a addr) Network() string { return "test" }
func (a addr) String() string  { return string(a) }

// Addr implements call.Listener.
func (l *Listener) Addr() net.Addr { return addr(l.addr) }

func (l *Listener) accept() (call.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("rpctest: dial %s: connection refused", l.addr)
	}
	c := &conn{listener: l, closing: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	l.conns[c] = struct{}{}
	if l.protocol.Numbered {
		return &numbered{conn: c}, nil
	}
	return c, nil
}

// stop takes the address away and tells clients to call elsewhere.
func (l *Listener) stop() {
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
func (l *Listener) Drain(ctx context.Context) error {
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
func (l *Listener) Close() error {
	l.stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.lose()
	}
	return nil
}

// Break closes the connections, and clients may connect again.
func (l *Listener) Break() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.stop()
		c.lose()
	}
}

// begin counts a call on c, and reports false if c accepts no more.
func (l *Listener) begin(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.stopped {
		return false
	}
	l.active++
	c.active++
	return true
}

func (l *Listener) end(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active--
	if c.active--; c.active == 0 {
		l.changed.Broadcast()
	}
}

// wake lets Drain and Close check their conditions again.
func (l *Listener) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed.Broadcast()
}
