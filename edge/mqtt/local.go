package mqtt

import (
	"errors"
	"sync/atomic"

	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
)

// local is a client of the broker: that of a connection, or the one that a session keeps while its client is away. It is the
// LocalHandler of both.
type local struct {
	*broker.Local
	conn    atomic.Pointer[conn]    // of which it is the client; nil when that has left. Changed with Server.mu held
	session atomic.Pointer[session] // nil before CONNACK
	ending  atomic.Pointer[ending]  // why the broker has ended it, or asks it to leave
}

// ending is why a client has to leave.
type ending struct {
	why    error
	closed bool // the broker has ended it; otherwise it asks
}

var _ broker.LocalHandler = (*local)(nil)

// Flush makes the loop write what was delivered.
func (k *local) Flush() {
	s := k.session.Load()
	if s == nil {
		return
	}
	s.mu.Lock()
	delivered := s.out != nil || s.exchange != nil && len(s.settled) > 0 // otherwise Resume would be called for nothing
	s.mu.Unlock()
	if delivered {
		s.wake()
	}
}

// Ready lets the connection publish again.
func (k *local) Ready(*broker.LocalTag) {
	s := k.session.Load()
	if s == nil {
		return
	}
	s.mu.Lock()
	s.credit = true
	s.mu.Unlock()
	s.wake()
}

// Opened lets the SUBACK go.
func (k *local) Opened(hs *broker.LocalSub) { k.resolve(hs, nil) }

// Ended refuses a subscription, or ends the connection if the subscription was made.
func (k *local) Ended(hs *broker.LocalSub, why error) { k.resolve(hs, why) }

func (k *local) resolve(hs *broker.LocalSub, why error) {
	s, x := k.session.Load(), subOf(hs)
	if s == nil || x == nil {
		return
	}
	s.mu.Lock()
	if x.failure == nil {
		x.failure = why
	}
	if x.ready && why != nil {
		s.needExchange()
		s.failure = why
	}
	late := x.removed && !x.opened // its durable exists only from now on
	x.opened = true
	s.mu.Unlock()
	if late {
		s.server.removeDurable(x.durable)
	}
	s.wake()
}

func subOf(hs *broker.LocalSub) *sub {
	x, _ := hs.User().(*sub)
	return x
}

// Drain asks the connection to leave.
func (k *local) Drain(reason string) { k.end(&ending{why: drainingError(reason)}) }

// Closed ends the connection.
func (k *local) Closed(why error) { k.end(&ending{why: why, closed: true}) }

// drained reports whether the client leaves because the node stops.
func (k *local) drained() bool {
	e := k.ending.Load()
	var why *native.Error
	return e != nil && errors.As(e.why, &why) && why.Code == native.CodeDraining
}

// end tells the connection that the client has to leave. While no connection serves the session, the client leaves at once.
func (k *local) end(e *ending) {
	k.ending.Store(e)
	c, s := k.conn.Load(), k.session.Load()
	var v *Server
	switch {
	case s != nil:
		v = s.server
	case c != nil:
		v = c.ls.server
	default:
		return // conn.begin or conn.disown follows
	}
	v.mu.Lock()
	c, s = k.conn.Load(), k.session.Load()
	if c == nil && s != nil && s.owner != nil {
		c = s.owner
	}
	if c == nil && s != nil && s.local == k {
		s.local = nil
		s.forgetSubscriptions()
	}
	v.mu.Unlock()
	switch {
	case c != nil:
		c.ls.Notify(func() { c.brokerEnds(k, e) })
	case s != nil && !e.closed:
		k.Close()
	}
}

// forgetSubscriptions notes that the client of the session has ended with its subscriptions. The next connection makes them again.
func (s *session) forgetSubscriptions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = false
	for x := s.subs; x != nil; x = x.next {
		x.local = nil
	}
}
