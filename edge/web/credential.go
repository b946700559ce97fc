package web

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/loop"
)

// credential is how the client of a request proves who it is. The zero value is a certificate, or nothing.
type credential struct {
	user   string           // of Basic; "" without
	secret []byte           // a token, or the password of Basic
	proved *broker.Identity // by a password; nil if it is a token
}

// credentialOf returns what an Authorization field says, which may be empty. RFC 6750, section 2.1; RFC 7617, section 2.
func credentialOf(field []byte) (who credential, ok bool) {
	if len(field) == 0 {
		return who, true
	}
	scheme, value, _ := bytes.Cut(field, []byte(" "))
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0:
		return who, false
	case strings.EqualFold(string(scheme), "Bearer"):
		return credential{secret: value}, true
	case strings.EqualFold(string(scheme), "Basic"):
		text, err := base64.StdEncoding.DecodeString(string(value))
		user, secret, found := bytes.Cut(text, []byte(":"))
		return credential{user: string(user), secret: secret}, err == nil && found && len(user) > 0
	}
	return who, false
}

// connect connects a client to the broker. The error is a *native.Error.
func (s *Server) connect(who *credential, c *loop.Conn, h broker.LocalHandler) (*broker.Local, error) {
	token := who.secret
	if who.proved != nil {
		token = nil
	}
	return s.Connect(who.user, broker.LocalConfig{Addr: c.RemoteIP(), Identity: who.proved, Token: token, TLS: edge.TLSState(c), Handler: h})
}

// login compares the password of Basic. It returns false if the request was refused, or goes on later: then its head is read again.
func (r *request) login(who *credential) bool {
	if !r.compared {
		generation := r.generation
		proved, decided, err := r.ls.server.Login(who.user, "", who.secret, edge.Remote(r.conn), func(proved *broker.Identity, err error) {
			r.ls.Notify(func() { r.loggedIn(generation, proved, err) })
		})
		if !decided {
			r.state = loggingIn
			r.conn.PauseReading()
			return false
		}
		r.proved, r.loginErr = proved, err
	}
	who.proved = r.proved
	if err := r.loginErr; err != nil {
		r.ls.server.LoginRefused(who.user, "", edge.Remote(r.conn), err)
		r.fail(loginError(err))
		return false
	}
	return true
}

// loggedIn goes on with the request, unless it has ended.
func (r *request) loggedIn(generation uint32, proved *broker.Identity, err error) {
	if r.generation != generation || r.state != loggingIn {
		return
	}
	r.compared, r.proved, r.loginErr = true, proved, err
	r.state = readingHead
	r.conn.ResumeReading()
}

// loginError returns status, code and text for an error of edge.Listener.Login.
func loginError(err error) (status int, code, reason string) {
	switch {
	case errors.Is(err, edge.ErrLoginsFailed):
		return 429, "limit", "too many logins have failed: try again later"
	case errors.Is(err, edge.ErrLoginsBusy):
		return 503, "busy", "too many logins wait: try again later"
	case errors.Is(err, edge.ErrLoginsUnavailable):
		return 503, "busy", "logins cannot be checked now: try again later"
	}
	return 401, "unauthenticated", "no user here has this password"
}
