// Package accept makes a transport.Listener of a net.Listener. Accept returns when its context ends. A client that never
// completes its handshake does not delay other clients.
//
// One goroutine accepts connections. If there is a handshake, each connection has one more goroutine that performs it, up to a bound. Accept
// returns only connections with a complete handshake.
//
//	l := accept.New(tcpListener, accept.Handshake{})
//	conn, err := l.Accept(ctx)
package accept

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"example.com/ferry/transport"
)

// Handshake configures what must succeed before Accept returns a connection.
type Handshake struct {
	Do      func(context.Context, net.Conn) (net.Conn, error) // performs the handshake; nil means no handshake
	Timeout time.Duration                                     // bound on one handshake
	Max     int                                               // handshakes in progress at one time; further connections wait
}

// Listener is a transport.Listener over a net.Listener. Close also closes the net.Listener.
type Listener struct {
	inner     net.Listener
	handshake Handshake
	ready     chan net.Conn
	running   *handshakes
	ctx       context.Context // cancelled by Close
	cancel    context.CancelFunc
	wg        sync.WaitGroup
}

var _ transport.Listener = (*Listener)(nil)

// New starts accepting connections from inner.
func New(inner net.Listener, h Handshake) *Listener {
	l := &Listener{inner: inner, handshake: h, ready: make(chan net.Conn), running: newHandshakes(h.Max)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.wg.Go(l.acceptAll)
	return l
}

// Accept returns the next connection whose handshake succeeded. After Close it returns net.ErrClosed.
func (l *Listener) Accept(ctx context.Context) (transport.Conn, error) {
	return Next(ctx, l.ready, l.ctx.Done())
}

// Addr returns the address of the net.Listener.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Close stops listening. It closes the connections that Accept has not returned.
func (l *Listener) Close() error {
	l.cancel()
	err := l.inner.Close()
	l.wg.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (l *Listener) acceptAll() {
	for {
		conn, err := l.inner.Accept()
		if l.ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return
		}
		if err != nil { // out of descriptors, or the peer has already closed: the next connection may succeed
			select {
			case <-time.After(10 * time.Millisecond):
			case <-l.ctx.Done():
			}
			continue
		}
		if l.handshake.Do == nil {
			l.deliver(conn)
			continue
		}
		if !l.running.room(l.ctx) {
			_ = conn.Close()
			return
		}
		ctx, shaking, done := l.running.start(l.ctx, l.handshake.Timeout, conn)
		l.wg.Go(func() { l.shakeHands(ctx, done, shaking) })
	}
}

func (l *Listener) shakeHands(ctx context.Context, done func(succeeded bool), conn net.Conn) {
	ready, err := l.handshake.Do(ctx, conn)
	done(err == nil)
	if err != nil {
		_ = conn.Close()
		return
	}
	l.deliver(ready)
}

func (l *Listener) deliver(conn net.Conn) {
	select {
	case l.ready <- conn:
	case <-l.ctx.Done():
		_ = conn.Close()
	}
}
