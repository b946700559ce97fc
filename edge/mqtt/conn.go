package mqtt

import (
	"errors"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/mqtt"
	"example.com/ferry/protocol/native"
)

// conn is a connection whose CONNECT was accepted. Only its loop uses it.
//
//	attaching ──CONNACK──► serving ──DISCONNECT, error, takeover, drain──► left
//	    └────────────────────────────the connection ends──────────────────────┘
//
// An attaching connection waits until another connection of the client has left. A serving one pauses reading while one of its
// reasons for that lasts: see conn.waits.
type conn struct {
	ls      *loopState
	conn    *loop.Conn
	local   *local   // that publishes
	session *session // nil while attaching
	hello   *hello   // nil unless attaching

	topics  *topics  // nil until the client publishes
	request *request // SUBSCRIBE whose subscriptions begin; nil if there is none
	will    *will    // is published if the client leaves without DISCONNECT

	progress edge.Progress

	keepAlive   uint16 // seconds; 0 means that the client may send nothing for any time
	version     wire.Version
	left        bool
	refused     bool // a message was refused
	pendingFull bool // as many messages wait to be stored as may
	watched     bool // look will be called
}

// newer reports whether the CONNECT of c came after that of another connection.
func (c *conn) newer(other *conn) bool { return int32(c.local.ID()-other.local.ID()) > 0 }

// hello is what CONNECT says about the session.
type hello struct {
	identity, clientID string
	clean, assigned    bool
	expiry             time.Duration
	peer               peerLimits
	replaces           bool // the client's last session has ended for it; guarded by Server.mu
}

var (
	_ loop.Handler    = (*conn)(nil)
	_ loop.Shutdowner = (*conn)(nil)
)

// Errors that end connections.
var (
	errStalled   = errors.New("mqtt: the client does not read")
	errNotStored = errors.New("mqtt: a message could not be stored")
)

func drainingError(reason string) error {
	return &native.Error{Code: native.CodeDraining, Reason: reason}
}

// Opened does nothing: the connection is open.
func (c *conn) Opened(*loop.Conn) {}

// Data handles the packets that are whole.
func (c *conn) Data(lc *loop.Conn, p []byte) (n int) {
	if c.session == nil {
		lc.PauseReading()
		return 0
	}
	if c.keepAlive > 0 {
		lc.SetTimer(silenceTimer, c.silence())
	}
	limits := wire.Limits{Version: c.version, MaxPacket: c.ls.listener.maxPacket}
	batch := &c.ls.run
	batch.open(c)
	for !c.left && !c.waits() {
		packet, need, err := wire.Next(p[n:], limits)
		if err != nil {
			if c.publishRun() {
				c.fail(err)
			}
			break
		}
		if need > 0 {
			break
		}
		n += packet.Size
		if packet.Kind != wire.Publish {
			if !c.publishRun() {
				n -= packet.Size
				break
			}
			err = c.handle(packet)
		} else {
			err = c.receive(packet, n)
		}
		if err != nil {
			if c.publishRun() {
				c.fail(err)
			}
			break
		}
	}
	if !c.left {
		c.publishRun()
	}
	n = batch.close(n)
	if c.left {
		return len(p)
	}
	stopped := c.waits()
	if stopped {
		c.watch()
	}
	c.Run()
	if stopped && !c.left {
		lc.PauseReading() // and on again at once, if Run has removed the reason
		c.resumeReading()
	}
	return n
}

// waits reports whether the client's next packets have to wait.
func (c *conn) waits() bool {
	return c.blocked() || c.request != nil || c.pendingFull || c.conn.Full()
}

// blocked reports whether a topic has no credit for the next message.
func (c *conn) blocked() bool { return c.topics != nil && c.topics.blocked != nil }

// resumeReading reads again, unless there is a reason to wait.
func (c *conn) resumeReading() {
	if !c.left && c.session != nil && !c.waits() {
		c.conn.ResumeReading()
	}
}

// handle handles a packet other than PUBLISH.
func (c *conn) handle(p wire.Packet) error {
	switch p.Kind {
	case wire.Puback, wire.Pubrec, wire.Pubrel, wire.Pubcomp:
		a, err := wire.ParseAck(p)
		if err == nil {
			err = c.acknowledge(&a)
		}
		return err
	case wire.Subscribe:
		v, err := wire.ParseSubscribe(p)
		if err == nil {
			err = c.checkCodes(wire.Suback, v.Filters.Len())
		}
		if err == nil {
			err = c.checkFilters(v.Filters)
		}
		if err == nil {
			c.subscribe(&v)
		}
		return err
	case wire.Unsubscribe:
		v, err := wire.ParseUnsubscribe(p)
		if err == nil {
			err = c.checkCodes(wire.Unsuback, v.Topics.Len())
		}
		if err == nil {
			c.unsubscribe(&v)
		}
		return err
	case wire.Pingreq:
		s := c.session
		s.mu.Lock()
		s.room(maxAck).B = wire.AppendPingresp(s.out.B) // behind what the client is waiting for
		s.mu.Unlock()
		return nil
	case wire.Disconnect:
		v, err := wire.ParseDisconnect(p)
		if err == nil {
			err = c.disconnected(&v)
		}
		return err
	}
	return &wire.Error{Code: wire.ProtocolError, Kind: p.Kind, Close: true, Reason: "extended authentication was not begun"}
}

// disconnected handles DISCONNECT.
func (c *conn) disconnected(v *wire.DisconnectPacket) error {
	if seconds, ok := v.Properties.Uint(wire.SessionExpiryInterval); ok {
		if c.session.lifetime == 0 && seconds > 0 { // MQTT 5.0, section 3.14.2.2.2
			return &wire.Error{Code: wire.ProtocolError, Kind: wire.Disconnect, Close: true, Reason: "the session of this connection ends with it"}
		}
		c.session.setExpiry(c.ls.server.expiry(seconds))
	}
	if v.Code != wire.DisconnectWithWill {
		c.will = nil
	}
	c.leave()
	c.ls.end(c.conn)
	return nil
}

// fail ends the connection because of an error, which the client is told if its version has a packet for it.
func (c *conn) fail(err error) {
	if c.left {
		return
	}
	c.ls.server.cfg.Log.Debug("mqtt: connection ended", "client", c.session.clientID(), "identity", c.session.identity(), "err", err)
	var e *wire.Error
	if !errors.As(err, &e) {
		e = &wire.Error{Code: disconnectCode(err), Reason: reasonOf(err)}
	}
	c.conn.Write(lastPacket(e, c.version, true, c.session.peer.maxPacket))
	c.leave()
	c.ls.end(c.conn)
}

// disconnectCode returns the reason code for an error of the broker.
func disconnectCode(err error) wire.ReasonCode {
	var e *native.Error
	if !errors.As(err, &e) {
		return wire.UnspecifiedError
	}
	if errors.Is(err, broker.ErrByOperator) {
		return wire.AdministrativeAction
	}
	switch e.Code {
	case native.CodeUnauthenticated, native.CodeForbidden:
		return wire.NotAuthorized
	case native.CodeLimit:
		return wire.QuotaExceeded
	case native.CodeDraining:
		return wire.ServerShuttingDown
	case native.CodeTooLarge:
		return wire.PacketTooLarge
	}
	return wire.AdministrativeAction
}

// brokerEnds handles LocalHandler.Drain and Closed of k: the connection's own client, or the one that its session keeps.
func (c *conn) brokerEnds(k *local, e *ending) {
	switch {
	case c.left:
		k.end(e) // another connection has the session now, or none
		return
	case c.session == nil: // it waits for the session: see Server.attach
		c.refuse(e.why)
		return
	case e.closed && c.session.local == k:
		c.ls.server.forget(c.session, k)
	}
	c.fail(e.why)
}

// Run does what has come up: packets to write, messages to ack, subscriptions that begin, credit.
func (c *conn) Run() {
	s := c.session
	if c.left || s == nil {
		return
	}
	s.mu.Lock()
	s.woken = false
	if s.conn != c {
		s.mu.Unlock()
		return
	}
	credit := s.credit
	s.credit = false
	full := c.conn.Full()
	var failure error
	var settled []delivered
	more := false
	if s.exchange != nil {
		c.pendingFull = len(s.pending.list) >= s.server.cfg.MaxInFlight
		if !full {
			if s.repeating {
				s.resend()
			}
			more = s.sendRetained()
		}
		failure, settled = s.failure, s.settled
		if s.settled = nil; !s.repeating && s.unused() {
			s.exchange = nil // it was there for retained messages only
		}
	}
	out := s.out
	if full {
		out = nil
	} else {
		s.out = nil
	}
	s.mu.Unlock()
	if out != nil {
		c.conn.WriteShared(out, out.B)
		out.Release()
		c.watch()
	}
	if more {
		s.wake()
	}
	ack(settled)
	if failure != nil {
		c.fail(failure)
		return
	}
	if c.request != nil {
		c.finishRequest()
	}
	if credit && c.topics != nil {
		c.topics.blocked = nil
	}
	c.resume()
	c.resumeReading()
}

// resume makes the broker deliver again, if it waits and there is room.
func (c *conn) resume() {
	s := c.session
	if s == nil || s.local == nil || c.conn.Full() {
		return
	}
	s.mu.Lock()
	resume := s.paused && s.canTake()
	if resume {
		s.paused = false
	}
	s.mu.Unlock()
	if resume {
		s.local.Resume()
	}
}

// Drained writes what has gathered, and reads again.
func (c *conn) Drained(*loop.Conn) { c.Run() }

// HalfClosed ends the connection: the client has left without DISCONNECT.
func (c *conn) HalfClosed(lc *loop.Conn) {
	c.leave()
	c.ls.end(lc)
}

// Closed ends the connection.
func (c *conn) Closed(lc *loop.Conn, _ error) {
	c.ls.Closed(lc)
	c.leave()
}

// Shutdown ends the connection: the node is stopping, or no longer listens here.
func (c *conn) Shutdown(*loop.Conn) {
	if c.left {
		return
	}
	err := drainingError("the node no longer listens here")
	if c.session == nil {
		c.refuse(err)
		return
	}
	c.fail(err)
}

// refuse ends a connection that waits for its session.
func (c *conn) refuse(err error) {
	c.leave()
	c.ls.greeting.refuse(c.conn, c.version, c.hello.peer.maxPacket, err)
}

// Timer ends the connection if the client has sent nothing for too long, or does not read.
func (c *conn) Timer(lc *loop.Conn, which int) {
	if which == progressTimer {
		c.look()
		return
	}
	if c.session == nil || c.waits() { // its packets wait unread
		lc.SetTimer(silenceTimer, c.silence())
		return
	}
	c.fail(&wire.Error{Code: wire.KeepAliveTimeout, Close: true, Reason: "nothing has arrived for one and a half times the keep alive"})
}
