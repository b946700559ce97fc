package http2

import (
	"bytes"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
)

// preface is the start of the first bytes of a client that speaks HTTP/2 (RFC 9113, section 3.4). No request of HTTP/1.1
// begins with it, because HTTP/1.1 has no version 2.0.
var preface = []byte("PRI * HTTP/2.0\r\n")

// firstTime is how long a draining connection waits for its first request. Its client is about to send one, and would not send it again if
// the connection were closed.
const firstTime = time.Second

// sniffer handles connections whose protocol is not known yet. It has no state of a connection, so all connections share
// one sniffer, and one that sends nothing needs no memory for it.
type sniffer struct {
	service  *Service
	other    loop.AcceptFunc
	draining *sniffer // handles the connections after Shutdown; nil if h is that sniffer
}

var _ loop.Shutdowner = (*sniffer)(nil)

// AcceptBoth returns the loop.AcceptFunc of a listener whose clients speak HTTP/2 or HTTP/1.1. In TLS, the protocol agreed on
// with ALPN decides, otherwise the client's first bytes. other returns the handlers of connections of HTTP/1.1.
func (s *Service) AcceptBoth(other loop.AcceptFunc) loop.AcceptFunc {
	unknown := &sniffer{s, other, &sniffer{service: s, other: other}}
	return func(c *loop.Conn) loop.Handler {
		switch tls := exchange.ClientTLS(c); {
		case s.current.Load().plan == nil:
			return nil
		case tls == nil:
			return unknown
		case tls.Protocol == "h2":
			return s.Accept(c)
		}
		return other(c)
	}
}

// Opened counts the connection.
func (h *sniffer) Opened(c *loop.Conn) {
	settings := h.service.current.Load()
	settings.plan.Listener.Opened(c.Loop().Index())
	setTimer(c, idleTimer, settings.IdleTimeout)
}

// Data passes the connection to the handler of its protocol.
func (h *sniffer) Data(c *loop.Conn, p []byte) int {
	n := min(len(p), len(preface))
	found := bytes.Equal(p[:n], preface[:n])
	if found && n < len(preface) {
		if len(c.Unread()) == 0 { // the first bytes
			c.StopTimer(idleTimer)
			setTimer(c, headTimer, h.service.current.Load().HeaderTimeout)
		}
		return 0
	}
	c.StopTimer(headTimer)
	drains := h.draining == nil
	if found {
		c.StopTimer(idleTimer)
		cc := h.service.conn(c)
		c.SetHandler(cc)
		cc.begin()
		n = cc.Data(c, p)
		if drains {
			cc.Shutdown(c)
		}
		return n
	}
	next := h.other(c)
	if next == nil {
		c.Abort(nil)
		return len(p)
	}
	c.SetHandler(next)
	if last, ok := next.(loop.Shutdowner); ok && drains {
		last.Shutdown(c)
		c.PauseReading() // the handler that Shutdown has set gets p
		c.ResumeReading()
		return 0
	}
	return next.Data(c, p)
}

// Drained does nothing: nothing is queued.
func (h *sniffer) Drained(*loop.Conn) {}

// HalfClosed closes the connection: no whole request has arrived.
func (h *sniffer) HalfClosed(c *loop.Conn) { c.Close() }

// Timer closes a connection that is idle or that does not complete its first bytes.
func (h *sniffer) Timer(c *loop.Conn, _ int) { c.Close() }

// Closed counts the end of the connection.
func (h *sniffer) Closed(c *loop.Conn, _ error) {
	h.service.current.Load().plan.Listener.Closed(c.Loop().Index())
}

// Shutdown closes the connection after firstTime. A request that arrives before then is still served.
func (h *sniffer) Shutdown(c *loop.Conn) {
	if h.draining != nil {
		c.SetHandler(h.draining)
		c.SetTimer(idleTimer, firstTime)
	}
}
