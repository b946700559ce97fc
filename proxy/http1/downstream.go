package http1

import (
	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http1"
)

// downstreamSide is the client's side of a request, from the request's first byte to the last byte of the response.
// During that time it is the handler of the client's connection. A loopState reuses it for other requests.
type downstreamSide struct {
	loopState *loopState
	settings  *settings
	client    *loop.Conn
	relay     exchange.Relay
	state     downstreamState

	// The connection.
	headTimed  bool // idleTimer runs until the head is complete
	halfClosed bool // the client has ended its side
	closing    bool // close the connection after the response
	keepAlive  bool // the response says that the connection stays open

	// The request.
	head        wire.Head
	headSize    int
	requestHead requestHead // view of head; data is the received bytes during Data, otherwise the copy in Replay
	body        wire.Body
	bodyRead    int64 // bytes of the body read so far
	framed      bool  // the upstream side asked for a framed body
	tunnel      bool  // the client asks for a tunnel, and the server speaks another protocol
	payload     payload
	trailers    *exchange.KeptFields // trailers of a body that is not framed

	// The response.
	status  int // status of the response; 0 before the response's head is written
	framing responseFraming
}

var (
	_ loop.Shutdowner     = (*downstreamSide)(nil)
	_ exchange.Downstream = (*downstreamSide)(nil)
)

// payload is the state of matching routes against the request's body.
type payload struct {
	body         wire.Body
	decodedBytes int                // bytes of the body that body has decoded
	content      exchange.HeldBytes // decoded content of a chunked body; empty for other bodies
}

// RequestHead returns the request's head, or nil before it is complete.
func (d *downstreamSide) RequestHead() exchange.RequestHead {
	if d.headSize == 0 {
		return nil
	}
	d.useReplayHead()
	return &d.requestHead
}

// Opened does nothing: the connection is already open when a request begins.
func (d *downstreamSide) Opened(*loop.Conn) {}

// Data processes bytes of the request. Bytes after the end of the request belong to the next one: they are left
// unread until the response has ended.
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
	case tunneling:
		n = d.sendTunnel(p)
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
		c.PauseReading() // a pipelined request is in p; read no more until this response has ended
	case d.state != inactive:
	// The request has ended, and the next one has not begun. A request begins in Data only.
	case n < len(p):
		readAgain(c)
	case d.halfClosed:
		c.CloseWrite()
	}
	return n
}

// incomplete reports whether the request can never be complete, because the client has closed its side. unread means
// that Data has left bytes unread.
func (d *downstreamSide) incomplete(unread bool) bool {
	switch d.state {
	case readingHead, matchingPayload, discardingBody:
		return true
	case sendingBody:
		return d.relay.Ready() || !unread // without an upstream, the unread bytes wait for a connection to the server
	}
	return false
}

// Drained resumes the response, which was paused while the client's queue was full.
func (d *downstreamSide) Drained(*loop.Conn) { d.relay.DownstreamDrained() }

// HalfClosed ends a request that is incomplete. The client of a complete request may still wait for its response.
func (d *downstreamSide) HalfClosed(*loop.Conn) {
	d.halfClosed = true
	switch d.state {
	case readingHead, matchingPayload, sendingBody, discardingBody:
		d.abandon()
		d.keepAlive = false // responses to earlier requests may still be queued
		d.finish()
	case tunneling:
		d.relay.RequestEnd(nil)
	}
}

// Timer responds with 408: the head did not arrive in time.
func (d *downstreamSide) Timer(*loop.Conn, int) {
	d.closing = true
	d.relay.Refuse(traffic.SlowClient)
	d.respondStatus(408)
}

// Closed ends the request: the client has left.
func (d *downstreamSide) Closed(c *loop.Conn, _ error) {
	d.abandon()
	d.loopState.closed(c)
	d.release()
}

// Shutdown closes the connection after the current response.
func (d *downstreamSide) Shutdown(*loop.Conn) { d.closing = true }

// EndTunnels ends the tunnel of the request, if it is one.
func (d *downstreamSide) EndTunnels() { d.relay.EndTunnel() }

// abandon ends the request. If it has no response yet, none is sent.
func (d *downstreamSide) abandon() {
	d.relay.Abandon()
	if d.state != discardingBody {
		d.relay.Finish(0)
	}
}

// useReplayHead makes requestHead a view of the copy in Replay, if there is a copy. The received bytes may not be valid
// any more.
func (d *downstreamSide) useReplayHead() {
	if kept := d.relay.Replay.Head(); len(kept) > 0 {
		d.requestHead.data = kept
	}
}

// finish prepares the connection for the next request, or closes the connection.
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

// release returns the side to its loopState. By then the connection is closed or has another handler.
func (d *downstreamSide) release() {
	d.payload.content.Release()
	d.payload = payload{}
	d.relay.Release()
	if d.headSize == 0 { // the parser resets a complete head
		d.head.Reset()
	}
	d.settings, d.client = nil, nil
	d.requestHead, d.trailers = requestHead{}, nil
	d.headTimed, d.halfClosed, d.closing, d.keepAlive = false, false, false, false
	d.headSize, d.bodyRead, d.framed, d.tunnel = 0, 0, false, false
	d.status, d.framing = 0, asReceived
	d.enter(inactive)
	d.loopState.free.Put(d, maxFreeDownstreams)
}
