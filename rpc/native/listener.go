package native

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"example.com/ferry/internal/peer"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
)

// listener serves a transport's connections on goroutines.
type listener struct {
	*server
	inner  transport.Listener
	stop   context.CancelFunc
	closed sync.WaitGroup // accept, and connections
}

var _ call.Listener = (*listener)(nil)

// Listen serves calls on addr. On tcp, tls and unix, an event loop for each core drives the connections.
func (p Protocol) Listen(ctx context.Context, t transport.Transport, addr string, s call.Service) (call.Listener, error) {
	if pollable, ok := t.(transport.Pollable); ok {
		socket, err := pollable.Socket(addr)
		if err != nil {
			return nil, err
		}
		return listenOnLoops(ctx, newServer(p.resolved(), s), socket)
	}
	inner, err := t.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	accepting, stop := context.WithCancel(context.Background())
	l := &listener{server: newServer(p.resolved(), s), inner: inner, stop: stop}
	l.closed.Add(2)
	go l.accept(accepting)
	go l.check(accepting)
	return l, nil
}

func (l *listener) Addr() net.Addr { return l.inner.Addr() }

// accept accepts connections until the listener is closed.
func (l *listener) accept(ctx context.Context) {
	defer l.closed.Done()
	for {
		raw, err := l.inner.Accept(ctx)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			l.cfg.Log.Warn("accept failed", "addr", l.inner.Addr(), "err", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(acceptPause):
			}
			continue
		}
		l.closed.Add(1)
		go l.serve(ctx, raw)
	}
}

// acceptPause is the time before accepting is tried again.
const acceptPause = 100 * time.Millisecond

// serve handles one connection.
func (l *listener) serve(ctx context.Context, raw transport.Conn) {
	defer l.closed.Done()
	s := &session{}
	c := peer.New(raw, peer.Config{Lowest: wire.CallVersion, Remote: "client", WriteBuffer: writeBuffer, Gather: true, OnClosing: s.onClosing})
	_ = raw.SetDeadline(time.Now().Add(l.cfg.HandshakeTimeout))
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	hello, err := c.Accept()
	stop()
	var identity string
	if err == nil {
		identity, err = l.identify(hello, raw.RemoteAddr(), c)
	}
	if err == nil {
		err = l.admit(s, c, hello.Limits, call.Peer{Addr: raw.RemoteAddr(), TLS: c.TLS(), Identity: identity})
	}
	if err != nil {
		c.Refuse(err)
		return
	}
	if r, ok := raw.(transport.Restricted); ok {
		r.PeerIdentified()
	}
	_ = raw.SetDeadline(time.Time{})
	_ = peer.Serve(c, &frameHandlers, s.newReceiver) // onClosing has the reason
}

// check closes connections that make no progress.
func (l *listener) check(ctx context.Context) {
	defer l.closed.Done()
	limits := l.limits()
	tick := time.NewTicker(min(limits.Silence, limits.Write) / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, s := range l.all() {
				s.peer.Check(now, limits)
			}
		}
	}
}

// Drain stops accepting, and waits until all calls have ended.
func (l *listener) Drain(ctx context.Context) error {
	_ = l.inner.Close()
	err := l.drain(ctx)
	l.stop()
	l.closed.Wait()
	return err
}

// Close closes all connections at once.
func (l *listener) Close() error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = l.Drain(ended)
	return nil
}
