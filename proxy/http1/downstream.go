package http1

import (
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http1"
)

// downstreamSide is the client's side of a request, from its first byte to its response's last one, and handles the client's
// connection meanwhile. A loopState uses it again for other requests.
type downstreamSide struct {
	loopState *loopState
	settings  *settings
	client    *loop.Conn
	relay     exchange.Relay
	state     downstreamState

	// The connection.
	headTimed  bool // idleTimer runs until the head is complete
	halfClosed bool // the client has ended its side
	closing    bool // the connection is to be closed behind the response
	keepAlive  bool // the response says that the connection stays open

	// The request.
	head        wire.Head
	headSize    int
	requestHead requestHead // head, with the bytes it was parsed from while they are lent, and else with those kept
	body        wire.Body
	bodyRead    int64 // bytes
	framed      bool  // the upstream side takes the body as it lies
	request     route.Request
	payload     payload
	trailers    *trailerFields // of a body that is not framed

	// The response.
	status  int // 0 before its head is written
	framing responseFraming
}

var (
	_ loop.Shutdowner     = (*downstreamSide)(nil)
	_ exchange.Downstream = (*downstreamSide)(nil)
)

// payload is what is known of the body while the route needs to see it.
type payload struct {
	matcher *route.Matcher // nil if the route does not need it
	body    wire.Body
	read    int          // bytes of the body
	content *bufpool.Buf // what they carry, if that is not in one piece
}

// Opened does nothing: a request begins on a connection that is open.
func (d *downstreamSide) Opened(*loop.Conn) {}

// Data takes the bytes of the request. Bytes behind it belong to the next one and wait for the response.
func (d *downstreamSide) Data(c *loop.Conn, p []byte) int {
	n := 0
	switch d.state {
	case readingHead:
		n = d.readHead(p)
	case matchingPayload:
		n = d.match(p)
	case sendingBody:
		n = d.sendBody(p)
	case discardingBody:
		n = d.discardBody(p)
	default:
		c.PauseReading()
		return 0
	}
	if d.halfClosed && d.incomplete(n < len(p)) {
		d.HalfClosed(c)
		return n
	}
	switch {
	case d.state == awaitingResponse && n < len(p):
		c.PauseReading() // the client pipelines: one read is enough to hold of that
	case d.state != inactive:
	// The request is over, and the next one has not begun: each begins in Data.
	case n < len(p):
		readAgain(c)
	case d.halfClosed:
		c.CloseWrite()
	}
	return n
}

// incomplete reports whether the request lacks bytes that will not come, as the client has ended its side. unread says that
// Data has left some.
func (d *downstreamSide) incomplete(unread bool) bool {
	switch d.state {
	case readingHead, matchingPayload, discardingBody:
		return true
	case sendingBody:
		return d.relay.Ready() || !unread // else the unread bytes wait for a connection to the server
	}
	return false
}

// Drained resumes the response, which was paused while the client's queue was full.
func (d *downstreamSide) Drained(*loop.Conn) { d.relay.DownstreamDrained() }

// HalfClosed ends a request that is not complete. The client of a complete one may still wait for its response.
func (d *downstreamSide) HalfClosed(*loop.Conn) {
	d.halfClosed = true
	switch d.state {
	case readingHead, matchingPayload, sendingBody, discardingBody:
		d.abandon()
		d.keepAlive = false // responses to earlier requests may still be queued
		d.finish()
	}
}

// Timer answers 408: the head has not come in time.
func (d *downstreamSide) Timer(*loop.Conn, int) {
	d.closing = true
	d.relay.Refuse(traffic.BadRequest)
	d.respondStatus(408)
}

// Closed ends the request of a client that is gone.
func (d *downstreamSide) Closed(c *loop.Conn, _ error) {
	d.abandon()
	d.loopState.closed(c)
	d.release()
}

// Shutdown makes the response the connection's last one.
func (d *downstreamSide) Shutdown(*loop.Conn) { d.closing = true }

// abandon ends the request without a response, unless it has had one.
func (d *downstreamSide) abandon() {
	d.relay.Abandon()
	if d.state != discardingBody {
		d.count(0)
	}
}

// count counts and logs the request. status is 0 if the client has not got a response.
func (d *downstreamSide) count(status int) {
	var head exchange.RequestHead
	if d.headSize > 0 {
		d.useKeptHead()
		head = &d.requestHead
	}
	d.relay.Finish(head, d.clientAddr, status)
}

// useKeptHead makes requestHead views of the head that is kept, if it is: the lent one may not be there any more.
func (d *downstreamSide) useKeptHead() {
	if kept := d.relay.Replay.Head(); len(kept) > 0 {
		d.requestHead.data = kept
	}
}

// finish makes the connection ready for the next request, or closes it.
func (d *downstreamSide) finish() {
	c := d.client
	switch {
	case !d.keepAlive:
		d.loopState.linger.begin(c)
	case d.closing:
		d.loopState.idle.Shutdown(c)
		resume(c)
	case d.halfClosed:
		c.SetHandler(d.loopState.halfClosed)
		setTimer(c, idleTimer, d.settings.IdleTimeout)
		if len(c.Unread()) == 0 {
			c.CloseWrite()
		}
		resume(c)
	default:
		c.SetHandler(d.loopState.idle)
		setTimer(c, idleTimer, d.settings.IdleTimeout)
		resume(c)
	}
	d.release()
}

// release gives the side back to its loopState. The connection has another handler by now, or is closed.
func (d *downstreamSide) release() {
	if d.payload.matcher != nil {
		d.payload.matcher.Reset()
		d.loopState.freeMatcher(d.payload.matcher, d.settings.plan.Table)
	}
	if d.payload.content != nil {
		d.payload.content.Release()
	}
	d.payload = payload{}
	d.relay.Release()
	d.head.Reset()
	d.settings, d.client = nil, nil
	d.request, d.requestHead, d.trailers = route.Request{}, requestHead{}, nil
	d.headTimed, d.halfClosed, d.closing, d.keepAlive = false, false, false, false
	d.headSize, d.bodyRead, d.framed = 0, 0, false
	d.status, d.framing = 0, asItLies
	d.enter(inactive)
	if bufpool.Reuse && len(d.loopState.free) < maxFreeDownstreams {
		d.loopState.free = append(d.loopState.free, d)
	}
}
