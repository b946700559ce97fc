//go:build utp && cgo

package utp

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/transport"
	"example.com/ferry/transport/internal/accept"
)

// maxBacklog is the number of accepted connections that the library holds. It closes further ones after their handshake, so the
// listener ignores their first packet: their clients send it again.
const maxBacklog = 5

// listener accepts connections. Its socket stays open while one of them is.
type listener struct {
	socket  *socket
	linger  time.Duration
	backlog atomic.Int32 // connections that the library has accepted and accept has not taken
	ready   chan transport.Conn
	ctx     context.Context // cancelled by Close
	cancel  context.CancelFunc
	once    sync.Once
}

func newListener(s *socket, linger time.Duration) *listener {
	l := &listener{socket: s, linger: linger, ready: make(chan transport.Conn)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	s.lib.SetSyncFirewallCallback(l.refuses)
	go l.accept()
	return l
}

// refuses reports whether the first packet of a connection is ignored. The library calls it before it accepts the connection, with
// its lock held.
func (l *listener) refuses(net.Addr) bool {
	if l.ctx.Err() != nil || l.backlog.Load() >= maxBacklog {
		return true
	}
	l.backlog.Add(1)
	return false
}

// accept passes connections to Accept. It ends when the socket is closed.
func (l *listener) accept() {
	for {
		lib, err := l.socket.lib.Accept()
		if err != nil {
			return
		}
		l.backlog.Add(-1)
		if !l.socket.use() {
			return
		}
		conn := newConn(lib, l.socket, l.linger)
		select {
		case l.ready <- conn:
		case <-l.ctx.Done():
			_ = conn.Close()
		}
	}
}

// Accept returns the next connection. After Close it returns net.ErrClosed.
func (l *listener) Accept(ctx context.Context) (transport.Conn, error) {
	return accept.Next(ctx, l.ready, l.ctx.Done())
}

// Addr returns the address of the socket.
func (l *listener) Addr() net.Addr { return l.socket.lib.Addr() }

// Close stops listening. It closes the connections that Accept has not returned.
func (l *listener) Close() error {
	l.once.Do(func() {
		l.cancel()
		l.socket.done()
	})
	return nil
}
