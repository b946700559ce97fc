package hop

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
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
			s := h.welcome(conn, v)
			<-h.accepted
			if s != nil {
				_ = peer.Serve(s.peer, &kinds, func() *reader { return newReader(s) }) // closing has logged the reason
			}
		}()
	}
}

// welcome does the handshake, and turns the client away or returns its session.
func (h *Hop) welcome(conn transport.Conn, v Validation) *session {
	var s *session
	c := peer.New(conn, peer.Config{
		Remote: "client", Linger: h.linger,
		OnClosing: func(why error) { s.closing(why) }, OnClosed: func() { s.closed() },
	})
	_ = conn.SetDeadline(time.Now().Add(h.cfg.HandshakeTimeout))
	e, err := h.beginHandshake(conn)
	if err != nil {
		h.turnAway(c, err)
		return nil
	}
	hello, identity, err := h.identify(c, conn.RemoteAddr())
	if h.endHandshake(e) && err != nil {
		err = &native.Error{Code: native.CodeLimit, Reason: "no HELLO yet, and newer connections need the place"}
	}
	if err == nil {
		if r, ok := conn.(transport.Restricted); ok {
			r.PeerIdentified()
		}
		_ = conn.SetDeadline(time.Time{})
		s = newSession(h, hello.Name, identity, v)
		err = h.join(s, c, conn.RemoteAddr())
	}
	if err != nil {
		h.cfg.Log.Warn("connection refused", "addr", conn.RemoteAddr(), "err", err)
		h.turnAway(c, err)
		return nil
	}
	return s
}

// turnAway tells a client why it is not served.
func (h *Hop) turnAway(c *peer.Conn, why error) {
	var e *native.Error
	if errors.As(why, &e) {
		h.refuse(e.Code)
	}
	c.Refuse(why)
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

func (h *Hop) refuse(c native.Code) {
	h.mu.Lock()
	h.refused[c]++
	h.mu.Unlock()
}

// identify waits for HELLO and finds out who the client is.
func (h *Hop) identify(c *peer.Conn, addr net.Addr) (native.HelloFrame, *Identity, error) {
	hello, err := c.Accept()
	if err != nil {
		return hello, nil, err
	}
	identity, err := h.cfg.Identify(hello.Token, c.TLS())
	if err != nil {
		h.cfg.Log.Warn("identity refused", "addr", addr, "name", hello.Name, "err", err)
		return hello, nil, &native.Error{Code: native.CodeUnauthenticated, Reason: "no identity here has this token or certificate"}
	}
	return hello, identity, nil
}

// join gives s a number and welcomes its client over c, unless there is no place for it.
func (h *Hop) join(s *session, c *peer.Conn, remote net.Addr) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.refusal(); err != nil {
		return err
	}
	h.served++
	for h.lastID++; h.lastID == 0 || h.sessions[h.lastID] != nil; h.lastID++ {
	}
	s.id = h.lastID
	s.start(c, remote.String())
	h.sessions[s.id] = s
	h.ending.Add(1)
	return nil
}
