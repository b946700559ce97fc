package quic

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"

	"github.com/quic-go/quic-go"

	"example.com/ferry/transport"
	"example.com/ferry/transport/internal/accept"
)

// maxSilent bounds the connections on which no bytes have arrived. A further connection evicts the oldest.
const maxSilent = 256

type listener struct {
	inner      *quic.Listener
	socket     *socket
	cfg        *Config
	ready      chan *Conn
	silent     *accept.Waiting
	identified identifiedSet
	ctx        context.Context // cancelled by Close
	cancel     context.CancelFunc
	running    sync.WaitGroup

	mu     sync.Mutex
	live   int // number of open connections, which use the socket even after Close
	closed bool
}

func newListener(s *socket, cfg *Config) *listener {
	l := &listener{socket: s, cfg: cfg, ready: make(chan *Conn), silent: accept.NewWaiting(cmp.Or(cfg.maxSilent, maxSilent))}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Accept returns the next connection on which bytes have arrived. The connection is a *Conn.
func (l *listener) Accept(ctx context.Context) (transport.Conn, error) {
	return accept.Next(ctx, l.ready, l.ctx.Done())
}

func (l *listener) Addr() net.Addr { return l.inner.Addr() }

// Close stops listening. Connections that Accept returned stay open. The UDP port stays bound until the last of them is
// closed.
func (l *listener) Close() error {
	l.cancel()
	_ = l.inner.Close()
	l.running.Wait()
	l.mu.Lock()
	unused := !l.closed && l.live == 0
	l.closed = true
	l.mu.Unlock()
	if unused {
		l.socket.close()
	}
	return nil
}

// release removes a connection that has ended. If the listener is closed and this was the last connection, release closes the
// socket.
func (l *listener) release(qc *quic.Conn) {
	l.identified.remove(qc)
	l.mu.Lock()
	l.live--
	unused := l.closed && l.live == 0
	l.mu.Unlock()
	if unused {
		l.socket.close()
	}
}

func (l *listener) acceptAll() {
	defer l.cancel() // makes Accept return if the socket fails
	for {
		qc, err := l.inner.Accept(l.ctx)
		if err != nil {
			return
		}
		l.mu.Lock()
		l.live++
		l.mu.Unlock()
		context.AfterFunc(qc.Context(), func() { l.release(qc) })
		ctx, done := l.silent.Start(l.ctx, l.cfg.HandshakeTimeout)
		l.running.Go(func() { l.awaitFirstBytes(ctx, done, qc) })
	}
}

// awaitFirstBytes waits for the dialer's first bytes and then passes the connection to Accept.
func (l *listener) awaitFirstBytes(ctx context.Context, done func(), qc *quic.Conn) {
	first, err := qc.AcceptStream(ctx)
	evicted := errors.Is(context.Cause(ctx), accept.ErrEvicted)
	done()
	switch {
	case err == nil:
	case evicted:
		_ = qc.CloseWithError(codeRefused, accept.ErrEvicted.Error())
		return
	default:
		_ = qc.CloseWithError(codeRefused, "nothing was written in time: the dialer speaks first")
		return
	}
	c := newConn(qc, first, l.cfg.Linger, nil)
	c.identified = &l.identified
	select {
	case l.ready <- c:
	case <-l.ctx.Done():
		_ = qc.CloseWithError(codeRefused, "the node stops")
	}
}
