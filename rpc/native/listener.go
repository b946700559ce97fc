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
	"example.com/ferry/rpc/internal/workers"
	"example.com/ferry/transport"
)

// server has the connections of a listener, whatever drives them.
type server struct {
	cfg     *Protocol
	service call.Service
	workers workers.Pool

	mu       sync.Mutex
	sessions map[*session]struct{}
	draining bool
	stopped  bool
	empty    chan struct{} // closed when draining is set and no session is left
}

func newServer(cfg *Protocol, service call.Service) *server {
	return &server{cfg: cfg, service: service, sessions: map[*session]struct{}{}, empty: make(chan struct{})}
}

// welcome returns the session of a client that has said HELLO, or an error that refuses it.
func (v *server) welcome(hello wire.HelloFrame, addr net.Addr, c *peer.Conn) (*session, error) {
	credentials := Credentials{Token: hello.Token, ClientName: hello.Name, Addr: addr, TLS: c.TLS()}
	identity, err := commonName(credentials), error(nil)
	if v.cfg.Authenticate != nil {
		identity, err = v.cfg.Authenticate(credentials)
	}
	if err != nil {
		v.cfg.Log.Warn("client refused", "addr", addr, "name", hello.Name, "err", err)
		return nil, &wire.Error{Code: wire.CodeUnauthenticated, Reason: "no identity here has this token or certificate"}
	}
	s := newSession(v.cfg, hello.Limits, 0)
	s.service, s.workers = v.service, &v.workers
	s.remote = call.Peer{Addr: addr, TLS: credentials.TLS, Identity: identity}
	s.ended = func() { v.remove(s) }
	s.peer = c
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.draining {
		return nil, &wire.Error{Code: wire.CodeDraining, Reason: "the server is stopping"}
	}
	v.sessions[s] = struct{}{}
	return s, nil
}

// commonName returns the common name of a verified client certificate, or "".
func commonName(c Credentials) string {
	if c.TLS == nil || len(c.TLS.VerifiedChains) == 0 {
		return ""
	}
	return c.TLS.PeerCertificates[0].Subject.CommonName
}

// introduce sends WELCOME. A client that connects while the server begins to drain learns it now.
func (v *server) introduce(s *session) {
	s.peer.Welcome(wire.WelcomeFrame{
		Streams: dataStreams, Source: 1, MaxFrame: maxFrame, Heartbeat: uint32(v.cfg.Heartbeat.Milliseconds()),
		Limits: wire.CallLimits{Calls: uint32(v.cfg.MaxCalls), Window: uint32(v.cfg.Window), StreamWindow: uint32(v.cfg.StreamWindow)},
	})
	s.prepare(maxFrame)
	v.mu.Lock()
	draining, stopped := v.draining, v.stopped
	v.mu.Unlock()
	if draining {
		s.drain()
	}
	if stopped {
		s.closeStopped()
	}
}

// limits are what a connection may not exceed.
func (v *server) limits() peer.Limits {
	return peer.Limits{Silence: 3 * v.cfg.Heartbeat, HalfFrame: v.cfg.WriteTimeout, Write: v.cfg.WriteTimeout}
}

func (v *server) remove(s *session) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.sessions, s)
	v.checkEmpty()
}

// checkEmpty is called under the lock.
func (v *server) checkEmpty() {
	if v.draining && len(v.sessions) == 0 {
		select {
		case <-v.empty:
		default:
			close(v.empty)
		}
	}
}

// all returns the sessions.
func (v *server) all() []*session {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := make([]*session, 0, len(v.sessions))
	for s := range v.sessions {
		list = append(list, s)
	}
	return list
}

// drain refuses further calls, and waits until the clients have closed their connections, or ctx ends. Then it closes what is left.
func (v *server) drain(ctx context.Context) error {
	v.mu.Lock()
	v.draining = true
	v.checkEmpty()
	v.mu.Unlock()
	for _, s := range v.all() {
		s.drain()
	}
	defer v.workers.Close()
	select {
	case <-v.empty:
		return nil
	case <-ctx.Done():
	}
	v.mu.Lock()
	v.stopped = true
	v.mu.Unlock()
	for _, s := range v.all() {
		s.closeStopped()
	}
	<-v.empty
	return ctx.Err()
}

func (s *session) closeStopped() {
	s.peer.Close(&wire.Error{Code: wire.CodeDraining, Reason: "the server has stopped"})
}

// drain serves no further call, and tells the client.
func (s *session) drain() {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	s.peer.Drain("the server is stopping")
}

// listener serves a transport's connections on goroutines.
type listener struct {
	*server
	inner  transport.Listener
	stop   context.CancelFunc
	closed sync.WaitGroup // accept, and connections
}

var _ call.Listener = (*listener)(nil)

// Listen serves calls on addr.
func (p Protocol) Listen(ctx context.Context, t transport.Transport, addr string, s call.Service) (call.Listener, error) {
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
	var s *session
	c := peer.New(raw, peer.Config{
		Lowest: wire.CallVersion, Remote: "client", Gather: true, OnClosing: func(why error) { s.onClosing(why) },
	})
	_ = raw.SetDeadline(time.Now().Add(l.cfg.HandshakeTimeout))
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	hello, err := c.Accept()
	stop()
	if err == nil {
		s, err = l.welcome(hello, raw.RemoteAddr(), c)
	}
	if err != nil {
		c.Refuse(err)
		return
	}
	if r, ok := raw.(transport.Restricted); ok {
		r.PeerIdentified()
	}
	_ = raw.SetDeadline(time.Time{})
	l.introduce(s)
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
