package mqtt

import (
	"bytes"
	"errors"
	"fmt"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/internal/password"
	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/mqtt"
	"example.com/ferry/protocol/native"
)

// checking handles the connections of a loop whose password is being compared. They are newcomers until that has ended, and ConnectTimeout goes on.
type checking struct {
	loop.Base
	ls     *loopState
	logins map[*loop.Conn]*wire.ConnectPacket // that are being compared
}

var _ loop.Shutdowner = (*checking)(nil)

// begin has the password of a CONNECT compared with a hash. identity is who the client is then; nil: the user is not known, which the comparison does not
// show, and about which the callback is asked if there is one.
func (h *checking) begin(c *loop.Conn, connect wire.Packet, hash string, identity *broker.Identity) {
	connect.Body = bytes.Clone(connect.Body)
	v, err := wire.ParseConnect(connect)
	if err != nil { // it was parsed before
		c.Close()
		return
	}
	h.logins[c] = &v
	c.SetHandler(h)
	c.PauseReading()
	h.ls.Hold(c, len(connect.Body)) // may close it
	logins := h.ls.server.cfg.Logins
	if identity == nil && logins.Asks() {
		asked := edge.LoginRequest{User: string(v.User), Client: string(v.ClientID), Address: remote(c), Protocol: "mqtt"}
		logins.Ask(asked, v.Password, func(g edge.LoginGrants, err error) {
			var granted *broker.Identity
			if err == nil {
				granted, err = h.ls.listener.Clients.Granted(asked.User, g.Identity, g.Publish, g.Subscribe)
			}
			h.ls.Notify(func() { h.end(c, &v, granted, err) })
		})
		return
	}
	logins.Check(string(v.User), remote(c), password.Hash(hash), identity != nil, v.Password, func(err error) {
		h.ls.Notify(func() { h.end(c, &v, identity, err) })
	})
}

// end goes on with the CONNECT, unless the connection has ended.
func (h *checking) end(c *loop.Conn, v *wire.ConnectPacket, identity *broker.Identity, err error) {
	if h.logins[c] != v {
		return
	}
	delete(h.logins, c)
	if err != nil {
		h.ls.server.cfg.Log.Warn("mqtt: login refused", "user", shown(v.User), "client", shown(v.ClientID), "addr", remote(c), "err", err)
		err = loginError(err)
	} else {
		err = h.ls.greeting.connect(c, v, identity)
	}
	if err != nil {
		h.ls.greeting.refuse(c, v.Version, peerOf(v).maxPacket, err)
	}
}

// shown returns a name for the log, which a client without a password must not fill.
func shown(name []byte) string { return fmt.Sprintf("%.100s", name) }

// loginError returns what the client is told.
func loginError(err error) error {
	switch {
	case errors.Is(err, edge.ErrLoginsBusy):
		return refusal(wire.ServerBusy, "too many logins wait: try again later")
	case errors.Is(err, edge.ErrLoginsFailed):
		return refusal(wire.ConnectionRateExceeded, "too many logins have failed: try again later")
	case errors.Is(err, edge.ErrLoginsUnavailable):
		return refusal(wire.ServerUnavailable, "logins cannot be checked now: try again later")
	}
	return &native.Error{Code: native.CodeUnauthenticated, Reason: "no user here has this password"}
}

func (h *checking) HalfClosed(c *loop.Conn)   { c.Close() }
func (h *checking) Timer(c *loop.Conn, _ int) { c.Close() }
func (h *checking) Shutdown(c *loop.Conn)     { c.Close() }

func (h *checking) Closed(c *loop.Conn, err error) {
	delete(h.logins, c)
	h.ls.greeting.Closed(c, err)
}
