package mqtt

import (
	"strings"
	"time"

	"example.com/ferry/broker"
	wire "example.com/ferry/protocol/mqtt"
)

// begin serves the session, which is the connection's from now on: CONNACK, what the client has not acknowledged on its last
// connection, and then what has gathered since.
func (c *conn) begin(s *session, present bool) {
	h := c.hello
	c.session, c.hello = s, nil
	if s.local == nil {
		s.local = c.local
	}
	c.conn.Write(c.connack(h, present))
	s.mu.Lock()
	s.conn, s.peer, s.woken, s.credit, s.lifetime = c, h.peer, false, false, h.expiry
	if s.exchange != nil {
		s.failure, s.repeating, s.attached = nil, true, c.ls.Now()
	}
	s.mu.Unlock()
	if present || h.expiry > 0 { // the saved session ends at another time, or not while the client is connected
		c.ls.server.dirty.Store(true)
	}
	c.ls.server.counters.connected.Add(1)
	c.watch()
	if c.keepAlive > 0 {
		c.conn.SetTimer(silenceTimer, c.silence())
	}
	c.local.session.Store(s)
	if e := c.local.ending.Load(); e != nil { // it could not be told before
		c.fail(e.why)
		return
	}
	c.subscribeAgain()
	c.Run()
	c.resumeReading()
}

// setExpiry changes how long the session outlives its connection.
func (s *session) setExpiry(d time.Duration) {
	s.mu.Lock()
	s.lifetime = d
	s.mu.Unlock()
}

// subscribeAgain makes the subscriptions of the session that the broker does not have: the client was away, the broker has ended them, or
// the node has started again. Those that the identity may no longer make are removed.
func (c *conn) subscribeAgain() {
	s := c.session
	var missing []*sub
	s.mu.Lock()
	for x := s.subs; x != nil; x = x.next {
		x.ready = true // no SUBACK is due on this connection
		if x.local == nil || x.failure != nil {
			x.opened, x.failure = false, nil
			missing = append(missing, x)
		}
	}
	s.mu.Unlock()
	for _, x := range missing {
		if err := c.subscribeHop(x); err != nil {
			c.ls.server.cfg.Log.Info("mqtt: a subscription of a session is refused now", "client", s.clientID(), "identity", s.identity(), "filter", x.filter, "err", err)
			s.mu.Lock()
			s.removeSub(x)
			s.mu.Unlock()
			c.ls.server.removeDurable(x.durable)
		}
	}
}

// subscribeHop subscribes at the broker. The error is a *native.Error.
func (c *conn) subscribeHop(x *sub) error {
	cfg := broker.LocalSubConfig{Filter: x.tags, Where: x.where, Policy: subscriptionPolicy, User: x}
	if x.group != "" {
		cfg.Group = strings.TrimPrefix(x.filter, wire.SharePrefix)
	}
	if x.durable.Name != "" {
		cfg.Durable, cfg.Start = x.durable.Name, durableStart
		c.watch()
	}
	var err error
	x.local, err = c.session.local.Subscribe(cfg)
	return err
}

// leave ends the use of the session, once. The caller closes the connection, unless it is closed.
func (c *conn) leave() {
	if c.left {
		return
	}
	c.left = true
	v := c.ls.server
	s := c.session
	if s == nil {
		v.cancel(c)
		c.disown()
		return
	}
	v.counters.connected.Add(-1)
	c.conn.StopTimer(progressTimer)
	s.mu.Lock()
	s.conn = nil
	if s.out != nil {
		s.out.Release()
		s.out = nil
	}
	var settled []delivered
	if s.exchange != nil {
		settled = s.disconnect(s.persists())
	}
	s.peer = peerLimits{}
	s.mu.Unlock()
	ack(settled)
	w := c.will
	c.will = nil
	if c.local.drained() {
		w = nil // the node stops: the client has not left
	}
	if w != nil && (w.delay == 0 || s.lifetime == 0) {
		c.publishWill(w)
		w = nil
	}
	if w != nil {
		w.due = time.Now().Add(min(w.delay, s.lifetime))
	}
	c.suspend(w != nil)
	v.detach(c, w)
}

// disconnect forgets what belongs to the connection that has left. It returns what the durables have to know. The caller holds the lock.
func (x *exchange) disconnect(lasts bool) (settled []delivered) {
	x.pending.orphan()
	settled = x.settled
	for _, w := range x.retained {
		w.sub.walk = nil // the next connection may begin it again
	}
	x.settled, x.retained, x.aliases = nil, nil, nil
	for i := range x.flights.span {
		x.flights.at(i).sent = false
	}
	if !lasts {
		x.flights.drop(func(*flight) bool { return true })
	}
	return settled
}

// disown closes the client of a connection without a session.
func (c *conn) disown() {
	v := c.ls.server
	v.mu.Lock()
	c.local.conn.Store(nil)
	v.mu.Unlock()
	c.local.Close()
}

// suspend ends what the session does not need at the broker while its client is away: durables keep their place in the stream, and
// shared subscriptions are for others. willed says that a will needs the client of the broker.
func (c *conn) suspend(willed bool) {
	s := c.session
	needed := willed
	for x := s.subs; x != nil; x = x.next {
		if s.lifetime == 0 {
			break // all end with the client of the broker
		}
		switch {
		case x.local == nil:
		case x.keeps() && x.durable.Name == "":
			needed = true
		default:
			x.local.Close(false)
			x.local = nil
		}
	}
	if c.topics != nil {
		for _, t := range c.topics.grants {
			t.grant.Close()
		}
	}
	if c.local != s.local {
		c.local.Close()
	}
	v := c.ls.server
	v.mu.Lock()
	c.local.conn.Store(nil)
	k := s.local
	close := !needed || s.lifetime == 0 || k == nil || k.ending.Load() != nil
	if close {
		s.local = nil
	}
	v.mu.Unlock()
	if close {
		if k != nil {
			k.Close()
		}
		s.forgetSubscriptions()
	} else {
		k.GiveUpPlace() // sessions have a limit of their own
	}
}

// takenOver ends a connection whose client has connected again.
func (c *conn) takenOver() {
	switch {
	case c.left:
	case c.session == nil:
		c.refuse(refusal(wire.ServerBusy, "the client has connected again"))
	default:
		c.fail(&wire.Error{Code: wire.SessionTakenOver, Close: true, Reason: "the client has connected again"})
	}
}

// lookInterval returns the time between two calls of conn.look.
func (c *conn) lookInterval() time.Duration {
	return min(5*time.Second, c.ls.listener.Config().WriteTimeout)
}

// resendTime is how long after CONNACK a durable may take to deliver again what the client has not acknowledged. What it does not is
// no longer there: the stream has begun again, or the message was acked before the process ended.
const resendTime = 30 * time.Second

// look looks after a connection from time to time, while there is something to look after. Durables must not take a slow client for one that is gone: what was sent stays
// on its way until the client has acknowledged it.
func (c *conn) look() {
	now, needed := c.ls.Now(), c.blocked() || c.conn.Queued() > 0
	if c.progress.Stalled(c.conn, now, c.ls.listener.Config().WriteTimeout) {
		c.conn.Abort(errStalled)
		return
	}
	s := c.session
	next := c.lookInterval()
	for x := s.subs; x != nil; x = x.next {
		if x.durable.Name != "" && x.local != nil {
			needed = true
			x.local.Progress()
			if wait := x.local.AckWait() / 3; wait > 0 {
				next = min(next, max(wait, 10*time.Millisecond))
			}
		}
	}
	if c.blocked() { // in case that Ready does not come: the grant was taken away
		c.topics.blocked = nil
		c.resumeReading()
	}
	s.mu.Lock()
	if s.exchange != nil {
		if now-s.attached > resendTime {
			s.dropLost()
		}
		needed = needed || s.flights.sent() < s.flights.live
	}
	s.mu.Unlock()
	c.resume()
	if c.watched = needed; needed {
		c.conn.SetTimer(progressTimer, next)
	}
}

// watch makes look be called. It costs little if that was done before.
func (c *conn) watch() {
	if !c.watched {
		c.watched = true
		c.conn.SetTimer(progressTimer, c.lookInterval())
	}
}
