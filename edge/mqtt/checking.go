package mqtt

import (
	"bytes"
	"errors"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
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

// login compares the password of a CONNECT, if it has one: see edge.Listener.Login. If that is not decided, the CONNECT goes on later.
func (h *checking) login(c *loop.Conn, v *wire.ConnectPacket, connect wire.Packet) (identity *broker.Identity, decided bool, err error) {
	waits := &wire.ConnectPacket{}
	identity, decided, err = h.ls.listener.Login(string(v.User), string(v.ClientID), v.Password, edge.Remote(c), func(proved *broker.Identity, err error) {
		h.ls.Notify(func() { h.end(c, waits, proved, err) })
	})
	if decided {
		return identity, true, h.refused(c, v, err)
	}
	connect.Body = bytes.Clone(connect.Body)
	if *waits, err = wire.ParseConnect(connect); err != nil { // it was parsed before
		c.Close()
		return nil, false, nil
	}
	h.logins[c] = waits
	c.SetHandler(h)
	c.PauseReading()
	h.ls.Hold(c, len(connect.Body)) // may close it
	return nil, false, nil
}

// end goes on with the CONNECT, unless the connection has ended.
func (h *checking) end(c *loop.Conn, v *wire.ConnectPacket, identity *broker.Identity, err error) {
	if h.logins[c] != v {
		return
	}
	delete(h.logins, c)
	if err = h.refused(c, v, err); err == nil {
		err = h.ls.greeting.connect(c, v, identity)
	}
	if err != nil {
		h.ls.greeting.refuse(c, v.Version, peerOf(v).maxPacket, err)
	}
}

// refused logs that a login is refused, and returns what the client is told. err is nil if it is not.
func (h *checking) refused(c *loop.Conn, v *wire.ConnectPacket, err error) error {
	if err == nil {
		return nil
	}
	h.ls.listener.LoginRefused(string(v.User), string(v.ClientID), edge.Remote(c), err)
	return loginError(err)
}

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
