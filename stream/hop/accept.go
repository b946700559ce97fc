package hop

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"example.com/ferry/protocol/native"
	"example.com/ferry/stream/internal/link"
	"example.com/ferry/transport"
)

// Serve accepts connections from l until ctx ends or l is closed, which is no error. What clients publish is checked as v
// says. Handshakes and refusals do not delay further connections, until twice Config.MaxConnections of them are under way.
func (h *Hop) Serve(ctx context.Context, l transport.Listener, v Validation) error {
	for {
		select {
		case h.accepted <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		conn, err := l.Accept(ctx)
		if err != nil {
			<-h.accepted
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("hop: accept on %v: %w", l.Addr(), err)
		}
		go func() {
			s, inlet := h.welcome(conn, v)
			<-h.accepted
			if s != nil {
				s.read(inlet, s.handle)
			}
		}()
	}
}

// welcome does the handshake, and turns the client away or returns its session.
func (h *Hop) welcome(conn transport.Conn, v Validation) (*session, *link.Inlet) {
	_ = conn.SetDeadline(time.Now().Add(h.cfg.HandshakeTimeout))
	hs, err := h.beginHandshake(conn)
	if err != nil {
		h.turnAway(conn, err)
		return nil, nil
	}
	inlet := link.NewInlet(conn, native.MaxHandshake)
	hello, identity, err := h.greet(conn, inlet)
	if h.endHandshake(hs) && err != nil {
		err = &native.Error{Code: native.CodeLimit, Reason: "no HELLO yet, and newer connections need the place"}
	}
	if err != nil {
		h.cfg.Log.Warn("connection refused", "remote", conn.RemoteAddr(), "err", err)
		inlet.Close()
		h.turnAway(conn, err)
		return nil, nil
	}
	if r, ok := conn.(transport.Restricted); ok {
		r.PeerIdentified()
	}
	_ = conn.SetDeadline(time.Time{})
	inlet.SetMaxFrame(h.cfg.MaxFrame)
	s := newSession(h, conn, hello, identity, v)
	if err := h.join(s); err != nil {
		inlet.Close()
		h.turnAway(conn, err)
		return nil, nil
	}
	s.start()
	return s, inlet
}

// beginHandshake notes a connection that has not said who it is. At most Config.MaxConnections of them wait at once: the
// oldest ends for a new one. The error says why there is no place for the client anyway.
func (h *Hop) beginHandshake(conn transport.Conn) (*list.Element, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.refusal(); err != nil {
		return nil, err
	}
	for h.greeting.Len() >= h.cfg.MaxConnections {
		h.expireOldest()
	}
	return h.greeting.PushBack(conn), nil
}

// expireOldest ends the oldest handshake; the lock is held.
func (h *Hop) expireOldest() {
	conn, _ := h.greeting.Remove(h.greeting.Front()).(transport.Conn)
	_ = conn.SetReadDeadline(time.Unix(1, 0))
}

// endHandshake reports whether expireOldest has ended the handshake before.
func (h *Hop) endHandshake(e *list.Element) (expired bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.greeting.Len()
	h.greeting.Remove(e)
	return h.greeting.Len() == before
}

// refusal says why no further client is served, nil if one is; the lock is held.
func (h *Hop) refusal() error {
	switch {
	case h.draining:
		return &native.Error{Code: native.CodeDraining, Reason: "the node is stopping"}
	case h.served >= h.cfg.MaxConnections:
		return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("the node serves %d connections already", h.served)}
	}
	return nil
}

// turnAway tells a client why it is not served.
func (h *Hop) turnAway(conn transport.Conn, why error) {
	var e *native.Error
	if errors.As(why, &e) {
		h.refuse(e.Code)
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write(native.AppendGoaway(nil, native.GoawayFrame{Code: e.Code, Reason: e.Reason}))
	}
	_ = conn.Close()
}

func (h *Hop) refuse(c native.Code) {
	h.mu.Lock()
	h.refused[c]++
	h.mu.Unlock()
}

// greet reads HELLO and finds out who the client is.
func (h *Hop) greet(conn transport.Conn, inlet *link.Inlet) (native.HelloFrame, *Identity, error) {
	f, err := inlet.First()
	if err != nil {
		var e *native.Error
		var t net.Error
		switch {
		case errors.As(err, &e):
			return native.HelloFrame{}, nil, &native.Error{Code: native.CodeProtocol, Reason: "this is not a ferry client: " + e.Reason}
		case errors.As(err, &t) && t.Timeout():
			err = &native.Error{Code: native.CodeTimeout, Reason: fmt.Sprintf("no HELLO within %v", h.cfg.HandshakeTimeout)}
		}
		return native.HelloFrame{}, nil, err
	}
	if f.Kind() != native.Hello {
		return native.HelloFrame{}, nil, unexpected(f, "before HELLO")
	}
	hello, err := native.ParseHello(f)
	if err != nil {
		return hello, nil, err
	}
	if _, err := native.Negotiate(hello); err != nil {
		return hello, nil, err
	}
	var state *tls.ConnectionState
	if sec, ok := conn.(transport.Secured); ok {
		cs := sec.ConnectionState()
		state = &cs
	}
	identity, err := h.cfg.Identify(hello.Token, state)
	if err != nil {
		h.cfg.Log.Warn("identity refused", "remote", conn.RemoteAddr(), "name", hello.Name, "err", err)
		return hello, nil, &native.Error{Code: native.CodeUnauthenticated, Reason: "no identity here has this token or certificate"}
	}
	return hello, identity, nil
}

// join makes s known, unless there is no place for it.
func (h *Hop) join(s *session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.refusal(); err != nil {
		return err
	}
	h.served++
	for h.lastID++; h.lastID == 0 || h.sessions[h.lastID] != nil; h.lastID++ {
	}
	s.id = h.lastID
	h.sessions[s.id] = s
	h.ending.Add(1)
	return nil
}
