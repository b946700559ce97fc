package edge

import (
	"fmt"

	"example.com/ferry/broker"
	"example.com/ferry/internal/password"
	"example.com/ferry/loop"
	"example.com/ferry/protocol/native"
)

// Login compares the password of a user, or asks the LoginCallback about a user that the node does not know. With decided, err says whether it is right, and done is not
// called. Otherwise done is called once, on another goroutine. identity is who the client is; nil means that it proves itself by a token, by a certificate, or not
// at all. client is the name of a device, or "".
func (l *Listener) Login(user, client string, secret []byte, addr string, done func(*broker.Identity, error)) (identity *broker.Identity, decided bool, err error) {
	if user == "" || len(secret) == 0 {
		return nil, true, nil
	}
	logins := l.service.Logins
	hash, identity, token := l.Clients.Password(user, secret)
	if hash == "" && logins.Asks() {
		token = l.Clients.KnowsToken(secret)
	}
	switch {
	case token, hash == "" && !logins.Asks():
		return nil, true, nil
	case identity != nil || !logins.Asks():
		decided, err = logins.Check(user, addr, password.Hash(hash), identity != nil, secret, func(err error) { done(identity, err) })
		return identity, decided, err
	}
	resolve := func(g LoginGrants) (*broker.Identity, error) {
		return l.Clients.Granted(user, g.Identity, g.Publish, g.Subscribe)
	}
	asked := LoginRequest{User: user, Client: client, Address: addr, Protocol: l.service.Name}
	decided, identity, err = logins.Ask(asked, secret, resolve, done)
	return identity, decided, err
}

// Connect connects a client to the broker, which has given user as its name, or "". One that gives a name, but neither password nor certificate, is not anonymous.
// The name of one that has a token is that of the identity: otherwise the token of one device could be entered at another one without notice. The error is a
// *native.Error.
func (l *Listener) Connect(user string, c broker.LocalConfig) (*broker.Local, error) {
	if c.User = shown(user); user == "" {
		c.Anonymous = l.Anonymous()
	}
	local, err := l.Clients.Connect(c)
	if err != nil {
		return nil, err
	}
	if name := local.Identity().Name; len(c.Token) > 0 && user != "" && name != "" && name != user {
		local.Close()
		err := &native.Error{Code: native.CodeUnauthenticated, Reason: "the user name is not the name of the password's identity"}
		l.LoginRefused(user, c.Name, c.Addr, err)
		return nil, err
	}
	return local, nil
}

// LoginRefused logs that a client is refused. client is the name of a device, or "".
func (l *Listener) LoginRefused(user, client, addr string, err error) {
	l.service.Log.Warn(l.service.Name+": login refused", "user", shown(user), "client", shown(client), "addr", addr, "err", err)
}

// MessageRefused logs that a message of a client is refused.
func (l *Listener) MessageRefused(identity, client, addr string, err error) {
	l.service.Log.Warn(l.service.Name+": message refused", "identity", identity, "client", shown(client), "addr", addr, "err", err)
}

// Unreadable logs that a client speaks TLS on an address without it, if the first bytes, which are no packet, say so.
func (l *Listener) Unreadable(c *loop.Conn, p []byte) {
	const handshake = 22 // RFC 8446, section 5.1
	if l.cfg.TLS == nil && len(p) > 0 && p[0] == handshake {
		l.service.Log.Warn(l.service.Name+": a client speaks TLS, and the listener does not", "addr", Remote(c), "listener", l.cfg.Address)
	}
}

// Remote returns the address of a connection's client, HOST:PORT.
func Remote(c *loop.Conn) string {
	if a := c.RemoteAddr(); a != nil {
		return a.String()
	}
	return ""
}

// shown returns a name for the log, which a client that is not identified must not fill.
func shown(name string) string { return fmt.Sprintf("%.100s", name) }
