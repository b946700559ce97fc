package memory

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"

	"example.com/ferry/transport"
	"example.com/ferry/transport/internal/accept"
)

// Config configures a Network. The zero value works.
type Config struct {
	// Buffer is how many bytes each direction of a connection holds before Write waits. 0 means 64 KiB.
	Buffer int `yaml:"buffer,omitempty"`

	// Backlog is how many dialed connections may wait for Accept before Dial waits. 0 means 128.
	Backlog int `yaml:"backlog,omitempty"`
}

// Network is a set of named listeners within one process.
type Network struct {
	cfg       Config
	mu        sync.Mutex
	listeners map[string]*listener
}

var _ transport.Transport = (*Network)(nil)

// New returns a Network without listeners. A nil c means defaults.
func New(c *Config) *Network {
	n := &Network{listeners: map[string]*listener{}}
	if c != nil {
		n.cfg = *c
	}
	if n.cfg.Buffer <= 0 {
		n.cfg.Buffer = 64 << 10
	}
	if n.cfg.Backlog <= 0 {
		n.cfg.Backlog = 128
	}
	return n
}

// Scheme returns memory.
func (*Network) Scheme() string { return "memory" }

// Listen reserves the name addr for a new listener. If another listener of the Network has that name, Listen fails.
func (n *Network) Listen(ctx context.Context, addr string) (transport.Listener, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memory: listen on %q: %w", addr, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[addr] != nil {
		return nil, fmt.Errorf("memory: address %q is in use: close its listener, or take another name: %w", addr, syscall.EADDRINUSE)
	}
	l := &listener{n: n, addr: address(addr), waiting: make(chan *conn, n.cfg.Backlog), closed: make(chan struct{})}
	n.listeners[addr] = l
	return l, nil
}

// Dial connects to the listener named addr.
func (n *Network) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memory: dial %q: %w", addr, err)
	}
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("memory: dial %q: no listener has this name: %w", addr, syscall.ECONNREFUSED)
	}
	dialed, accepted := newPair(l.addr, n.cfg.Buffer)
	if err := l.enqueue(ctx, accepted); err != nil {
		return nil, fmt.Errorf("memory: dial %q: %w", addr, err)
	}
	return dialed, nil
}

type listener struct {
	n       *Network
	addr    address
	waiting chan *conn
	closed  chan struct{}
	once    sync.Once
}

func (l *listener) enqueue(ctx context.Context, c *conn) error {
	select {
	case l.waiting <- c:
	case <-l.closed:
		return syscall.ECONNREFUSED
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-l.closed: // Close may have emptied the backlog before c was in it
		l.drain()
	default:
	}
	return nil
}

// Accept returns the next dialed connection.
func (l *listener) Accept(ctx context.Context) (transport.Conn, error) {
	return accept.Next(ctx, l.waiting, l.closed)
}

func (l *listener) Addr() net.Addr { return l.addr }

// Close releases the name and closes the connections that Accept has not returned.
func (l *listener) Close() error {
	l.once.Do(func() {
		l.n.mu.Lock()
		delete(l.n.listeners, string(l.addr))
		l.n.mu.Unlock()
		close(l.closed)
		l.drain()
	})
	return nil
}

func (l *listener) drain() {
	for {
		select {
		case c := <-l.waiting:
			_ = c.Close()
		default:
			return
		}
	}
}

// address is the name of a listener in a Network.
type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }
