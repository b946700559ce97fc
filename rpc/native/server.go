package native

import (
	"context"
	"net"
	"sync"

	"example.com/ferry/internal/peer"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/held"
	"example.com/ferry/rpc/internal/workers"
)

// server has the connections of a listener, whatever drives them.
type server struct {
	cfg     *Protocol
	service call.Service
	workers workers.Pool
	held    *held.Server

	mu       sync.Mutex
	sessions map[*session]struct{}
	draining bool
	stopped  bool
	empty    chan struct{} // closed when draining is set and no session is left
}

func newServer(cfg *Protocol, service call.Service) *server {
	return &server{cfg: cfg, service: service, held: held.NewServer(cfg.MaxServerHeld), sessions: map[*session]struct{}{}, empty: make(chan struct{})}
}

// identify returns the identity of a client that has said HELLO, or an error that refuses it.
func (v *server) identify(hello wire.HelloFrame, addr net.Addr, c *peer.Conn) (identity string, err error) {
	credentials := Credentials{Token: hello.Token, ClientName: hello.Name, Addr: addr, TLS: c.TLS()}
	if v.cfg.Authenticate == nil {
		return commonName(credentials), nil
	}
	if identity, err = v.cfg.Authenticate(credentials); err != nil {
		v.cfg.Log.Warn("client refused", "addr", addr, "name", hello.Name, "err", err)
		err = &wire.Error{Code: wire.CodeUnauthenticated, Reason: "no identity here has this token or certificate"}
	}
	return identity, err
}

// admit makes c a connection of s and sends WELCOME. An error refuses the client.
func (v *server) admit(s *session, c *peer.Conn, limits wire.CallLimits, remote call.Peer) error {
	s.init(v.cfg, limits, 0)
	s.peer, s.remote, s.service, s.workers = c, remote, v.service, &v.workers
	s.ended = v.remove
	s.account = held.New(v.held, maxLimit)
	v.mu.Lock()
	if v.draining {
		v.mu.Unlock()
		return &wire.Error{Code: wire.CodeDraining, Reason: "the server is stopping"}
	}
	v.sessions[s] = struct{}{}
	v.mu.Unlock()
	v.introduce(s)
	return nil
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
