package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/loop/tlslayer"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/traffic"
)

// terminator is the service of a listener, with TLS before its protocol. A reload can turn TLS on and off.
type terminator struct {
	service
	layers  *tlslayer.Layers
	bound   *tlslayer.Bound
	log     *slog.Logger
	current atomic.Pointer[terminatorSettings]
}

// terminatorSettings are the settings of new connections.
type terminatorSettings struct {
	*termination // nil for cleartext
	counts       *traffic.Listener
}

func newTerminator(s service, layers *tlslayer.Layers, log *slog.Logger) *terminator {
	return &terminator{service: s, layers: layers, bound: layers.Bound(), log: log}
}

// terminate sets the settings of connections that are accepted from now on. handshakes is limit.Config.Handshakes.
func (t *terminator) terminate(with *termination, counts *traffic.Listener, handshakes int) {
	t.bound.Limit(handshakes)
	t.current.Store(&terminatorSettings{with, counts})
}

// Accept is the loop.AcceptFunc of the listener. The connection gets the handler of its protocol after the handshake.
func (t *terminator) Accept(c *loop.Conn) loop.Handler {
	s := t.current.Load()
	if s.termination == nil {
		return t.accept(c)
	}
	c.SetLayer(&serverLayer{Layer: t.layers.Server(c.Loop(), s.server.Config(), t.bound), settings: s}, t.ready)
	return (*handshaking)(t)
}

// Owns reports whether h handles a client's connection of the listener.
func (t *terminator) Owns(h loop.Handler) bool {
	if shaking, ok := h.(*handshaking); ok {
		return (*terminator)(shaking) == t
	}
	return t.service.Owns(h)
}

// ready is called after a successful handshake. It returns the handler of the protocol.
func (t *terminator) ready(c *loop.Conn) loop.Handler {
	l, ok := c.Layer().(*serverLayer)
	if !ok {
		return nil
	}
	state := l.ConnectionState()
	l.info = exchange.NewTLSInfo(&state, l.settings.cfg.ForwardClientCert)
	l.info.Terms = l.settings.demands()
	result := traffic.HandshakeFull
	if state.DidResume {
		result = traffic.HandshakeResumed
	}
	l.settings.counts.Handshake(c.Loop().Index(), result)
	h := t.accept(c)
	if l.draining && h != nil {
		c.StopTimer(drainTimer)
		return drained{h}
	}
	return h
}

// serverLayer is the layer of a client's connection.
type serverLayer struct {
	*tlslayer.Layer
	settings *terminatorSettings
	info     *exchange.TLSInfo // nil before the handshake has succeeded
	draining bool              // the listener has begun to drain before that
}

// ClientTLS implements the interface that exchange.ClientTLS asks for.
func (l *serverLayer) ClientTLS() *exchange.TLSInfo { return l.info }

// handshaking handles the connections of a listener whose handshake is not complete.
type handshaking terminator

var _ loop.Shutdowner = (*handshaking)(nil)

func (h *handshaking) Opened(*loop.Conn)               {}
func (h *handshaking) Data(_ *loop.Conn, p []byte) int { return len(p) }
func (h *handshaking) Drained(*loop.Conn)              {}
func (h *handshaking) HalfClosed(c *loop.Conn)         { c.Close() }
func (h *handshaking) Timer(c *loop.Conn, _ int)       { c.Close() }

// Closed counts a handshake that failed.
func (h *handshaking) Closed(c *loop.Conn, err error) {
	l, ok := c.Layer().(*serverLayer)
	if !ok || err == nil || l.info != nil { // the proxy closed the connection, or the protocol's service refused it
		return
	}
	result := handshakeResult(err)
	l.settings.counts.Handshake(c.Loop().Index(), result)
	if h.log.Enabled(context.Background(), slog.LevelDebug) {
		h.log.Debug("TLS handshake failed", "listener", l.settings.counts.Name, "addr", c.RemoteAddr(), "result", result.String(), "err", err)
	}
}

// drainTimer bounds a handshake of a listener that drains.
const drainTimer = 0

// handshakeDrainTime is how long a client may take for its handshake, from when its listener begins to drain.
const handshakeDrainTime = 5 * time.Second

// Shutdown lets the handshake go on. Its client is about to send a request, and would not send it again if the connection were closed.
func (h *handshaking) Shutdown(c *loop.Conn) {
	l, ok := c.Layer().(*serverLayer)
	if !ok {
		c.Close()
		return
	}
	l.draining = true
	c.SetTimer(drainTimer, handshakeDrainTime)
}

// drained is the handler of a connection whose handshake has ended after its listener has begun to drain.
type drained struct{ loop.Handler }

// Opened puts the protocol's handler in place, and shuts it down.
func (d drained) Opened(c *loop.Conn) {
	c.SetHandler(d.Handler)
	d.Handler.Opened(c)
	if h, ok := d.Handler.(loop.Shutdowner); ok {
		h.Shutdown(c)
	} else {
		c.Close()
	}
}

// handshakeTexts are parts of errors of crypto/tls that have no type.
var handshakeTexts = []struct {
	part   string
	result traffic.Handshake
}{
	{"client didn't provide a certificate", traffic.HandshakeNoCertificate},
	{"client certificate", traffic.HandshakeBadCertificate},
	{"unsupported application protocols", traffic.HandshakeNoProtocol},
	{"unsupported versions", traffic.HandshakeNoVersion},
	{"no cipher suite supported by both", traffic.HandshakeNoVersion},
}

// handshakeResult returns the result of a handshake that failed with err.
func handshakeResult(err error) traffic.Handshake {
	var verification *tls.CertificateVerificationError
	var op *net.OpError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, tlslayer.ErrSlow):
		return traffic.HandshakeTimeout
	case errors.Is(err, tlslayer.ErrBusy):
		return traffic.HandshakeOverload
	case errors.Is(err, tlslayer.ErrNotTLS):
		return traffic.HandshakeNotTLS
	case errors.As(err, &verification):
		return traffic.HandshakeBadCertificate
	case errors.As(err, &op) && op.Op == "remote error":
		return traffic.HandshakeRefused
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return traffic.HandshakeClosed
	}
	for _, each := range handshakeTexts {
		if strings.Contains(err.Error(), each.part) {
			return each.result
		}
	}
	return traffic.HandshakeError
}
