package broker

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
)

// acceptSlots holds one element for each accepted connection without a session, until it is closed.
type acceptSlots chan struct{}

// Serve accepts connections until ctx ends or Drain closes the listener; it then returns nil. Handshakes and refusals do
// not delay further connections, unless twice Config.MaxConnections of them are in progress.
func (l *Listener) Serve(ctx context.Context) error {
	b := l.broker
	for {
		slots := *b.acceptSlots.Load()
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		conn, err := l.inner.Accept(ctx)
		if err != nil {
			<-slots
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("broker: accept on %v: %w", l.inner.Addr(), err)
		}
		go func() {
			s := l.handshake(conn)
			<-slots
			if s != nil {
				_ = peer.Serve(s.peer, &frameHandlers, func() *receiver { return newReceiver(s) }) // onClosing logs the error
			}
		}()
	}
}

// handshake identifies the client of conn and returns its session. It returns nil if the client was refused.
func (l *Listener) handshake(conn transport.Conn) *session {
	b, cfg := l.broker, l.broker.cfg.Load()
	var s *session
	c := peer.New(conn, peer.Config{
		Remote: "client", Linger: b.linger, Keep: func() bool { return b.keepSocket(conn) },
		OnClosing: func(why error) { s.onClosing(why) }, OnClosed: func() { s.onClosed() },
	})
	_ = conn.SetDeadline(time.Now().Add(cfg.HandshakeTimeout))
	e, err := b.beginHandshake(conn, cfg)
	if err != nil {
		b.refuse(c, err)
		return nil
	}
	hello, identity, err := identify(cfg, c, conn.RemoteAddr())
	if b.endHandshake(e) && err != nil {
		err = &native.Error{Code: native.CodeLimit, Reason: "no HELLO yet, and newer connections need the place"}
	}
	if err == nil {
		if r, ok := conn.(transport.Restricted); ok {
			r.PeerIdentified()
		}
		_ = conn.SetDeadline(time.Time{})
		s = newSession(l, cfg, hello.Name, conn.RemoteAddr().String(), identity)
		err = b.addSession(s, c, hello.Limits, conn.RemoteAddr())
	}
	if err != nil {
		cfg.Log.Warn("connection refused", "addr", conn.RemoteAddr(), "err", err)
		b.refuse(c, err)
		return nil
	}
	s.log.Debug("connection opened")
	return s
}

// refuse sends the client the reason for a refusal and closes the connection.
func (b *Broker) refuse(c *peer.Conn, why error) {
	var e *native.Error
	if errors.As(why, &e) {
		b.countRefusal(e.Code)
	}
	c.Refuse(why)
}

// beginHandshake adds conn to the list of handshakes. The list has at most Config.MaxConnections entries: a further
// connection expires the oldest handshake. beginHandshake returns an error if the broker cannot serve another client.
func (b *Broker) beginHandshake(conn transport.Conn, cfg *Config) (*list.Element, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.cannotServe(); err != nil {
		return nil, err
	}
	for b.handshakes.Len() >= cfg.MaxConnections {
		b.expireOldestHandshake()
	}
	return b.handshakes.PushBack(conn), nil
}

// expireOldestHandshake stops waiting for the HELLO of the oldest connection. The caller holds the lock.
func (b *Broker) expireOldestHandshake() {
	conn, _ := b.handshakes.Remove(b.handshakes.Front()).(transport.Conn)
	_ = conn.SetReadDeadline(time.Unix(1, 0))
}

// endHandshake removes a connection from the list of handshakes. It reports whether expireOldestHandshake has already
// removed it.
func (b *Broker) endHandshake(e *list.Element) (expired bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.handshakes.Len()
	b.handshakes.Remove(e)
	return b.handshakes.Len() == before
}

// cannotServe returns why no further client can be served, or nil. The caller holds the lock.
func (b *Broker) cannotServe() error {
	switch {
	case b.draining:
		return &native.Error{Code: native.CodeDraining, Reason: "the node is stopping"}
	case b.served >= b.cfg.Load().MaxConnections:
		return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("the node serves %d connections already", b.served)}
	}
	return nil
}

// identify waits for HELLO. It returns the HELLO and the identity of the token or certificate.
func identify(cfg *Config, c *peer.Conn, addr net.Addr) (native.HelloFrame, *Identity, error) {
	hello, err := c.Accept()
	if err != nil {
		return hello, nil, err
	}
	identity, err := cfg.Identify(hello.Token, c.TLS())
	if err != nil {
		cfg.Log.Warn("identity refused", "addr", addr, "name", hello.Name, "err", err)
		return hello, nil, unauthenticated
	}
	return hello, identity, nil
}

var unauthenticated = &native.Error{Code: native.CodeUnauthenticated, Reason: "no identity here has this token or certificate"}

// addSession assigns a source id to s and sends WELCOME over c.
func (b *Broker) addSession(s *session, c *peer.Conn, limits native.CallLimits, addr net.Addr) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.admit(s, c.TLS()); err != nil {
		return err
	}
	s.welcome(c, limits, addr.String())
	return nil
}

// admit makes s a session of the broker, with a source id, unless the broker cannot serve its client. The caller holds the lock.
func (b *Broker) admit(s *session, state *tls.ConnectionState) error {
	if err := b.cannotServe(); err != nil {
		return err
	}
	if !b.refresh(s) {
		return unauthenticated // SetIdentities has removed the client since it was identified
	}
	if valid := s.listener.certified; valid != nil && s.identity.Load().proof.commonName != "" && !valid(state) {
		return unauthenticated // CloseCertified was called since the TLS handshake began
	}
	if s.listener.otherAnonymous(s.identity.Load()) {
		return unauthenticated // SetAnonymous was called since the client was identified
	}
	if s.listener.closed {
		return &native.Error{Code: native.CodeDraining, Reason: listenerGone}
	}
	b.served++
	s.placed = true
	b.ended.Add(1)
	for b.lastID++; b.lastID == 0 || b.sessions[b.lastID] != nil; b.lastID++ {
	}
	s.id = b.lastID
	b.sessions[s.id] = s
	return nil
}
