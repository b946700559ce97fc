package loop

import (
	"errors"
	"net"
	"net/netip"
)

// AcceptFunc returns the handler of an accepted connection, which is already open. The loop calls Opened after the function
// has returned. If the function called Conn.SetLayer, Opened follows the layer's handshake. A nil handler resets the
// connection.
type AcceptFunc func(c *Conn) Handler

// acceptor accepts the connections of a Listener for one loop.
type acceptor struct {
	loop     *Loop
	listener *Listener
	id       int32
	gen      uint32
	closed   bool
	pending  bool   // more connections may be waiting
	paused   bool   // accepting is stopped: no descriptors are left, or MaxConns is reached
	retry    *Timer // fires at the end of a pause
}

// open makes the loop accept connections of nl.
func (l *Loop) open(ln *Listener, nl net.Listener) error {
	a := &acceptor{loop: l, listener: ln, gen: l.nextGen()}
	a.retry = l.NewTimer(a.acceptBatch)
	id, err := l.sys.listen(nl, a.gen)
	if err != nil {
		return err
	}
	a.id = id
	l.acceptors[id] = a
	return nil
}

// acceptBatch accepts waiting connections, at most acceptShare of them.
func (a *acceptor) acceptBatch() {
	if a.closed {
		return
	}
	a.paused = false
	for range acceptShare {
		found, err := a.acceptOne()
		if err != nil {
			a.pause()
			return
		}
		if !found {
			return
		}
	}
	a.acceptLater()
}

// acceptLater makes the loop continue accepting in its next turn.
func (a *acceptor) acceptLater() { a.pending, a.loop.acceptPending = true, true }

// acceptMore runs the acceptors that did not finish in the last turn.
func (l *Loop) acceptMore() {
	l.acceptPending = false
	for _, a := range l.acceptors {
		if a.pending {
			a.pending = false
			a.acceptBatch()
		}
	}
}

// errFull means that every loop holds MaxConns accepted connections.
var errFull = errors.New("loop: MaxConns connections are accepted on each loop")

// errShort means that the free descriptors are kept for other than accepted connections.
var errShort = errors.New("loop: the process has nearly used up its descriptors (RLIMIT_NOFILE)")

// acceptOne accepts one connection. found is false if no connection is waiting. err says why none can be accepted now.
func (a *acceptor) acceptOne() (found bool, err error) {
	l := a.loop
	reserved := a.listener.reserve(l)
	if reserved == nil {
		return false, errFull
	}
	id, from, err := l.sys.accept(a.id)
	if err != nil {
		reserved.accepted.Add(-1)
		if errors.Is(err, ErrAgain) {
			return false, nil
		}
		l.stats.AcceptErrors++
		return false, err
	}
	ticket := uint32(0)
	if gate := a.listener.gate; gate != nil {
		if ticket, found = gate.Admit(l, from.Addr()); !found {
			reserved.accepted.Add(-1)
			l.stats.Refused++
			l.sys.close(id, true)
			return true, nil
		}
	}
	if to := a.listener.place(l, reserved); to != l {
		l.handOver(id, to, a.listener, from, ticket)
		return true, nil
	}
	l.begin(id, a.listener, from, ticket)
	return true, nil
}

// begin drives an accepted connection from the address from. ln.place has counted the connection on l.
func (l *Loop) begin(id int32, ln *Listener, from netip.AddrPort, ticket uint32) {
	c := l.adopt(id, Base{}, accepted)
	l.setOrigin(c, ln, from, ticket)
	h := ln.accepted(c)
	if h == nil {
		c.Abort(nil)
		return
	}
	if err := l.sys.watch(id, c.gen, false); err != nil {
		c.fail("watch", err) // Opened was not called, so Closed is not called either
		return
	}
	c.handler = h
	if c.layered != nil {
		c.layered.start(l.cfg.HandshakeTimeout)
		return
	}
	h.Opened(c)
}

// pause stops accepting until a connection of this loop is closed, but for no longer than acceptPause. The time is limited
// because another part of the process may free descriptors.
func (a *acceptor) pause() {
	a.paused = true
	a.loop.stats.AcceptPauses++
	a.retry.Set(acceptPause)
}

// acceptWaiting accepts connections that already wait, at most acceptShare of them. It returns whether more may be waiting. An error says
// why none can be accepted.
func (a *acceptor) acceptWaiting() (more bool, err error) {
	for range acceptShare {
		if found, err := a.acceptOne(); err != nil || !found {
			return false, err
		}
	}
	return true, nil
}

// close closes the socket. The connections that wait are reset.
func (a *acceptor) close() {
	if a.closed {
		return
	}
	a.closed = true
	a.retry.Stop()
	delete(a.loop.acceptors, a.id)
	a.loop.sys.close(a.id, false)
}
