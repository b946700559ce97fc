package http2

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http2"
)

// The timers of a client's connection. The Relays have the timers of the requests.
const (
	idleTimer  = iota // time without a request; when closing: time until a byte of the queue is acknowledged
	headTimer         // time until a frame, a request's head or the preface is complete
	tickTimer         // next refill of the budgets for abuse
	closeTimer        // time until the next step of closing the connection
)

const (
	goAwayTime = time.Second     // longest time between the two GOAWAY frames
	lingerTime = 2 * time.Second // as for HTTP/1.1: a client that still sends may not be reset before it has read everything
)

// clientConn handles the connection of a client. Each of its streams has a downstreamSide as its User.
type clientConn struct {
	loopState *loopState
	conn      *loop.Conn
	h2        *wire.Conn
	state     connState

	window, streamWindow int // bytes; what the client was told

	headTimed bool // headTimer runs
	headEnded bool // a head was complete since headTimer was last considered
	ticking   bool // tickTimer runs
	requests  int
	discarded int    // bytes received while closing
	malformed uint64 // requests that the protocol refused and that are counted
	unsent    int    // unacknowledged bytes when stillReads was last called; 0 if a request began since
	addr      string // the client's address without a port; empty if there is none
	tls       *exchange.TLSInfo

	tunnels     []*downstreamSide // requests for tunnels
	interimHeld []*downstreamSide // requests whose interim responses wait until the queue has drained
}

var _ loop.Shutdowner = (*clientConn)(nil)

// settings returns the configuration that is in use now. A connection keeps none, because it may outlive many.
func (cc *clientConn) settings() *settings { return cc.loopState.service.current.Load() }

// Opened counts the connection and sends the proxy's SETTINGS.
func (cc *clientConn) Opened(c *loop.Conn) {
	cc.settings().plan.Listener.Opened(c.Loop().Index())
	cc.begin()
}

// begin starts HTTP/2 on a connection that is already counted.
func (cc *clientConn) begin() {
	c := cc.conn
	c.LimitQueue()
	cc.addr = c.RemoteIP()
	cc.tls = exchange.ClientTLS(c)
	s := cc.settings()
	cc.window, cc.streamWindow = cmp.Or(s.wire.ConnWindow, wire.DefaultConnWindow), cmp.Or(s.wire.StreamWindow, wire.DefaultStreamWindow)
	cc.h2 = wire.NewServer(&s.wire, (*clientStreams)(cc), c)
	setTimer(c, idleTimer, s.IdleTimeout)
	cc.timeHead(0, 0)
}

// Data processes frames.
func (cc *clientConn) Data(c *loop.Conn, p []byte) int {
	if cc.state == closing {
		return cc.discard(p)
	}
	n, err := cc.h2.Receive(p)
	cc.countMalformed()
	if err != nil {
		cc.fail(err)
		return len(p)
	}
	if cc.state == closing {
		return len(p)
	}
	cc.timeHead(n, len(p)-n)
	if !cc.ticking {
		cc.ticking = true
		c.SetTimer(tickTimer, time.Second)
	}
	if cc.state == goingAway && !cc.h2.PongAwaited() {
		cc.lastGoAway()
	}
	return n
}

// timeHead starts or stops headTimer. consumed and unread are the bytes that the protocol has processed, and those that it
// has left because they end within a frame. A head in several frames has one deadline; each other frame has its own.
func (cc *clientConn) timeHead(consumed, unread int) {
	within := cc.h2.HeaderPending()
	switch {
	case !within && unread == 0:
		if cc.headTimed {
			cc.headTimed = false
			cc.conn.StopTimer(headTimer)
		}
	case !cc.headTimed || cc.headEnded || !within && consumed > 0:
		cc.headTimed = true
		setTimer(cc.conn, headTimer, cc.settings().HeaderTimeout)
	}
	cc.headEnded = false
}

// Drained sends the bodies that waited while the queue was full.
func (cc *clientConn) Drained(*loop.Conn) {
	if cc.state == closing {
		return
	}
	cc.h2.Flush()
	for len(cc.interimHeld) > 0 && !cc.conn.Full() {
		d := cc.interimHeld[0]
		cc.dropHeld(d)
		d.relay.DownstreamDrained()
	}
}

// EndTunnels ends the tunnels of the connection.
func (cc *clientConn) EndTunnels() {
	for _, d := range slices.Clone(cc.tunnels) { // one that ends leaves the list
		d.relay.EndTunnel()
	}
}

// dropHeld ends the wait of d.
func (cc *clientConn) dropHeld(d *downstreamSide) {
	if d.interimHeld {
		d.interimHeld = false
		cc.interimHeld = slices.DeleteFunc(cc.interimHeld, func(each *downstreamSide) bool { return each == d })
	}
}

// HalfClosed ends the connection: a client of HTTP/2 that has ended its side expects no more (RFC 9113, section 9.1).
func (cc *clientConn) HalfClosed(*loop.Conn) {
	if cc.state != closing {
		cc.h2.Closed(io.EOF)
		cc.close()
	}
}

// Closed ends the requests of the connection: the client has left.
func (cc *clientConn) Closed(c *loop.Conn, err error) {
	if cc.h2 != nil {
		cc.h2.Closed(err)
	}
	cc.loopState.closed(c)
}

// Timer handles the timers of the connection.
func (cc *clientConn) Timer(c *loop.Conn, which int) {
	switch which {
	case tickTimer:
		cc.ticking = false
		if cc.state != closing {
			cc.h2.Tick()
		}
	case headTimer:
		cc.countRefused(traffic.SlowClient)
		cc.h2.GoAway(wire.EnhanceYourCalm)
		cc.h2.Closed(errHeadLate)
		cc.close()
	case idleTimer:
		cc.idleExpired()
	case closeTimer:
		cc.closeExpired()
	}
}

var errHeadLate = errors.New("http2: the client's frame was not complete within header_timeout")

// fail ends the connection because the client violated or misused the protocol. The protocol has written GOAWAY.
func (cc *clientConn) fail(err error) {
	var failure *wire.ConnError
	if errors.As(err, &failure) && failure.Abuse != wire.NoAbuse {
		cc.settings().plan.Listener.Abused(cc.conn.Loop().Index(), failure.Abuse)
	} else {
		cc.countRefused(traffic.BadRequest)
	}
	cc.h2.Closed(err)
	cc.close()
}

// countMalformed counts the requests that the protocol has refused without calling Headers.
func (cc *clientConn) countMalformed() {
	s := cc.h2.Stats()
	for n := s.Malformed + s.HeaderTooLarge; cc.malformed < n; cc.malformed++ {
		cc.countRefused(traffic.BadRequest)
	}
}

func (cc *clientConn) countRefused(why traffic.Refusal) {
	cc.settings().plan.Listener.Refused(cc.conn.Loop().Index(), why)
}

// setTimer sets a timer to expire after d. It does nothing if d is zero or negative, which means never.
func setTimer(c *loop.Conn, which int, d time.Duration) {
	if d > 0 {
		c.SetTimer(which, d)
	}
}

// clientStreams is a clientConn as the protocol sees it: it gets what arrives on the streams.
type clientStreams clientConn

var _ wire.Handler = (*clientStreams)(nil)

// Headers begins a request, or ends one with its trailers.
func (cs *clientStreams) Headers(s *wire.Stream, h *wire.Head, end bool) {
	cc := (*clientConn)(cs)
	cc.headEnded = true
	if h.Trailers {
		if d := sideOf(s); d != nil {
			d.receiveTrailers(h)
		}
		return
	}
	cc.conn.StopTimer(idleTimer)
	cc.unsent = 0
	cc.requests++
	cc.loopState.downstream(cc, s).begin(h, end)
	now := cc.settings()
	if limit := now.MaxRequests; limit > 0 && cc.requests >= limit || now.plan.Overload.EndsKeepAlive() {
		cc.Shutdown(cc.conn)
	}
}

// Data passes a piece of a body to the request of s.
func (cs *clientStreams) Data(s *wire.Stream, p []byte, end bool) {
	if d := sideOf(s); d != nil {
		d.receiveData(p, end)
	}
}

// Reset ends the request of s.
func (cs *clientStreams) Reset(s *wire.Stream, why wire.StreamError) {
	if d := sideOf(s); d != nil {
		d.streamReset(why)
	}
}

// Writable resumes the response of s.
func (cs *clientStreams) Writable(s *wire.Stream) {
	if d := sideOf(s); d != nil {
		d.relay.DownstreamDrained()
	}
}

// Sent says that the end of the response of s, which had to wait, has left.
func (cs *clientStreams) Sent(s *wire.Stream) {
	if d := sideOf(s); d != nil && d.state == flushing {
		d.responseSent()
	}
}

// GoAway does nothing: a client that goes away still expects the responses to its requests.
func (cs *clientStreams) GoAway(uint32, wire.Code) {}

// sideOf returns the downstreamSide of s, or nil if the request of s has ended.
func sideOf(s *wire.Stream) *downstreamSide {
	d, _ := s.User.(*downstreamSide)
	return d
}
