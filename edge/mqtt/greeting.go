package mqtt

import (
	"crypto/rand"
	"errors"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/internal/topic"
	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/mqtt"
	"example.com/ferry/protocol/native"
)

// greeting handles all connections of a loop that have sent no CONNECT yet.
type greeting struct {
	loop.Base
	ls *loopState
}

var _ loop.Shutdowner = (*greeting)(nil)

func (h *greeting) Opened(c *loop.Conn) {
	h.ls.Opened(c)
	c.SetTimer(silenceTimer, h.ls.listener.Config().HandshakeTimeout)
}

func (h *greeting) HalfClosed(c *loop.Conn)   { h.ls.end(c) }
func (h *greeting) Timer(c *loop.Conn, _ int) { c.Close() }

func (h *greeting) Closed(c *loop.Conn, _ error) {
	h.ls.Closed(c)
}

func (h *greeting) Shutdown(c *loop.Conn) { c.Close() }

// Data handles CONNECT. What follows it stays unread until the session is attached.
func (h *greeting) Data(c *loop.Conn, p []byte) int {
	packet, need, err := wire.Next(p, wire.Limits{MaxPacket: min(h.ls.listener.maxPacket, maxConnect)})
	if need > 0 {
		h.ls.Hold(c, len(p))
		return 0
	}
	var v wire.ConnectPacket
	if err == nil {
		v, err = wire.ParseConnect(packet)
	}
	var identity *broker.Identity
	if err == nil {
		var decided bool
		if identity, decided, err = h.ls.checking.login(c, &v, packet); !decided {
			return packet.Size
		}
	} else {
		h.ls.listener.Unreadable(c, p)
	}
	if err == nil {
		err = h.connect(c, &v, identity)
	}
	if err != nil {
		h.refuse(c, v.Version, peerOf(&v).maxPacket, err)
		return len(p)
	}
	return packet.Size
}

// refuse responds to a CONNECT and closes the connection. limit is the largest packet that the client accepts; 0 means any.
func (h *greeting) refuse(c *loop.Conn, v wire.Version, limit uint32, err error) {
	h.ls.server.counters.refusedConnects.Add(1)
	h.ls.server.cfg.Log.Debug("mqtt: connection refused", "addr", c.RemoteIP(), "err", err)
	var e *wire.Error
	if !errors.As(err, &e) {
		e = &wire.Error{Code: connectCode(err), Reason: reasonOf(err)}
	}
	if v == wire.V311 && e.Kind == 0 { // a decision of the server: 3.1.1 has a return code for each
		c.Write(wire.AppendConnack(nil, v, &wire.ConnackPacket{Code: e.Code}))
	} else {
		c.Write(lastPacket(e, v, false, limit))
	}
	h.ls.end(c)
}

// connectCode returns the reason code for an error of the broker.
func connectCode(err error) wire.ReasonCode {
	var e *native.Error
	if !errors.As(err, &e) {
		return wire.UnspecifiedError
	}
	switch e.Code {
	case native.CodeUnauthenticated:
		return wire.BadUserNameOrPassword
	case native.CodeForbidden:
		return wire.NotAuthorized
	case native.CodeLimit:
		return wire.QuotaExceeded
	case native.CodeDraining:
		return wire.ServerUnavailable
	}
	return wire.UnspecifiedError
}

// reasonOf returns the text of an error for the client.
func reasonOf(err error) string {
	var e *native.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return err.Error()
}

func refusal(code wire.ReasonCode, reason string) error {
	return &wire.Error{Code: code, Reason: reason}
}

// connect identifies the client and attaches its session. proved is the identity of a client whose password was compared. MQTT 5.0, section 3.1.4.
func (h *greeting) connect(lc *loop.Conn, v *wire.ConnectPacket, proved *broker.Identity) error {
	if method, ok := v.Properties.Text(wire.AuthenticationMethod); ok {
		return refusal(wire.BadAuthenticationMethod, "no authentication method is known here, such as "+string(method)+": send user and password, or a certificate")
	}
	clientID := string(v.ClientID)
	if len(clientID) > maxClientID {
		return refusal(wire.ClientIdentifierNotValid, "a client identifier has at most 256 bytes")
	}
	assigned := clientID == ""
	if assigned {
		clientID = "auto-" + rand.Text()
	}
	c := &conn{ls: h.ls, conn: lc, version: v.Version, keepAlive: v.KeepAlive}
	k := &local{}
	k.conn.Store(c)
	client, err := h.ls.listener.Connect(string(v.User), broker.LocalConfig{
		Name: clientID, Addr: edge.Remote(lc), Identity: proved, Token: v.Password, TLS: edge.TLSState(lc), Handler: k,
	})
	if err != nil {
		return err
	}
	k.Local = client
	c.local = k
	identity := client.Identity()
	c.hello = &hello{
		identity: identity.Name, clientID: clientID, clean: v.CleanStart, assigned: assigned, expiry: h.ls.server.expiryOf(v), peer: peerOf(v),
	}
	if c.will, err = newWill(v.Will, identity.Publish); err != nil {
		h.ls.listener.LoginRefused(string(v.User), clientID, edge.Remote(lc), err)
	}
	if err == nil && c.hello.peer.maxPacket > 0 && c.connack(c.hello, false) == nil {
		err = refusal(wire.PacketTooLarge, "the client does not accept a packet as long as CONNACK")
	}
	if err != nil {
		c.left = true
		c.disown()
		return err
	}
	h.ls.Identified(lc)
	lc.SetHandler(c)
	lc.PauseReading()
	lc.StopTimer(silenceTimer)
	h.ls.server.attach(c)
	return nil
}

// silence returns how long the client may send nothing; 0 means for ever. MQTT 5.0, section 3.1.2.10.
func (c *conn) silence() time.Duration { return time.Duration(c.keepAlive) * time.Second * 3 / 2 }

// peerOf returns the limits of the client as receiver.
func peerOf(v *wire.ConnectPacket) peerLimits {
	l := peerLimits{version: v.Version, receiveMax: maxIDs}
	if n, ok := v.Properties.Uint(wire.ReceiveMaximum); ok {
		l.receiveMax = uint16(n)
	}
	if n, ok := v.Properties.Uint(wire.MaximumPacketSize); ok {
		l.maxPacket = min(n, wire.MaxPacketSize)
	}
	if n, ok := v.Properties.Uint(wire.TopicAliasMaximum); ok {
		l.aliasMax = uint16(n)
	}
	return l
}

// never is a session expiry interval that does not end: MQTT 5.0, section 3.1.2.11.2.
const never = 1<<32 - 1

// expiryOf returns how long the session outlives its connection.
func (v *Server) expiryOf(c *wire.ConnectPacket) time.Duration {
	if c.Version != wire.V5 {
		if c.CleanStart {
			return 0
		}
		return v.cfg.MaxExpiry
	}
	seconds, _ := c.Properties.Uint(wire.SessionExpiryInterval)
	return v.expiry(seconds)
}

func (v *Server) expiry(seconds uint32) time.Duration {
	if seconds == never {
		return v.cfg.MaxExpiry
	}
	return min(time.Duration(seconds)*time.Second, v.cfg.MaxExpiry)
}

// covers reports whether one of the grants matches a tag.
func covers(grants []string, tag string) bool {
	for _, g := range grants {
		if topic.Covers(g, tag) {
			return true
		}
	}
	return false
}
