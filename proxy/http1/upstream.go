package http1

import (
	"errors"
	"iter"
	"os"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"

	wire "example.com/ferry/protocol/http1"
)

// upstreamSide is the server's side of a request. It is the handler of the connection to the server while the request
// uses the connection. A connectorLoop reuses it for other requests.
type upstreamSide struct {
	owner *connectorLoop
	relay *exchange.Relay
	pool  *pool
	conn  *loop.Conn // nil while waiting for a connection
	state upstreamState

	// The request.
	reused         bool   // the connection has served other requests
	bytesWritten   int64  // bytes of the request, queued bytes included
	headWritten    int    // bytes of them that are the request's head
	requestWritten bool   // the request is completely written or queued
	inChunks       bool   // the body arrives as content and is written in chunks
	upgrade        bool   // the request asks the server for an upgrade
	tunnel         bool   // the request came in another protocol and asks for a tunnel
	protocol       []byte // protocol of the tunnel
	accept         string // Sec-WebSocket-Accept that the server must send; empty if there is none
	method         wire.Method

	// The response.
	head         *wire.Head // nil before the first byte of the response
	responseHead responseHead
	body         wire.Body
	framed       bool                 // the downstream side asked for a framed body
	trailers     *exchange.KeptFields // trailers of a body that is not framed
	closing      bool                 // close the connection after the response
}

var (
	_ loop.Shutdowner   = (*upstreamSide)(nil)
	_ exchange.Upstream = (*upstreamSide)(nil)
)

// Opened is called when the connection is open. The request is already queued.
func (u *upstreamSide) Opened(*loop.Conn) {
	u.enter(awaitingHead)
	u.relay.Opened()
}

// Data processes bytes of the response.
func (u *upstreamSide) Data(c *loop.Conn, p []byte) int {
	if u.unsolicited() && u.reconnect() {
		return len(p)
	}
	if u.state == awaitingHead {
		u.enter(receivingHead)
		u.head = u.owner.getHead()
	}
	n := 0
	for u.state == receivingHead {
		m, err := wire.ParseResponse(p[n:], u.head, u.method, u.owner.connector.limits.Load())
		if err != nil {
			u.malformed()
			return len(p)
		}
		if m == 0 {
			return n
		}
		u.responseHead = responseHead{u.head, p[n : n+m]}
		n += m
		over, pause := u.handleHead(p[n:])
		switch {
		case over:
			return len(p)
		case pause:
			c.PauseReading()
			return n
		}
	}
	m, pause, err := u.forwardBody(p[n:])
	n += m
	switch {
	case err != nil:
		u.malformed()
		return len(p)
	case u.body.Done():
		u.complete(n == len(p) && !c.Readable())
		return len(p)
	case pause:
		c.PauseReading()
	}
	if u.framed && splices(&u.body, len(p)) {
		c.Splice()
	}
	return n
}

// handleHead handles the head of a response. behind is the bytes after the head. over means that this side has finished
// its part of the request, pause that the client's queue is full.
func (u *upstreamSide) handleHead(behind []byte) (over, pause bool) {
	switch status := u.head.Status; {
	case status == 101 && u.upgrade:
		u.becomeTunnel(behind)
		return true, false
	case status == 101 && u.opensTunnel():
		return u.respond(&openedHead{u.responseHead}), false
	case status == 101, status/100 == 2 && u.tunnel: // another protocol, or no tunnel: 2xx would open one for the client
		u.malformed()
		return true, false
	case status/100 == 1:
		return false, u.relay.Interim(&u.responseHead)
	}
	body := u.head.Body(u.owner.connector.limits.Load())
	if _, _, err := body.Next(behind); err != nil { // nothing has gone to the client yet, so it gets 502
		u.malformed()
		return true, false
	}
	return u.respond(&u.responseHead), false
}

// respond passes on the head of the response.
func (u *upstreamSide) respond(h exchange.ResponseHead) (over bool) {
	framed, ok := u.relay.Response(h, u.head.Framing == wire.BodyNone)
	if !ok {
		return true
	}
	u.framed = framed
	u.body = u.head.Body(u.owner.connector.limits.Load())
	u.enter(receivingBody)
	return false
}

// forwardBody passes on the part of the response's body in p.
func (u *upstreamSide) forwardBody(p []byte) (n int, pause bool, err error) {
	if u.framed {
		n, err = u.body.Pass(p, func(piece []byte) { pause = u.relay.ResponseData(piece, false) })
		return n, pause, err
	}
	n, err = passContent(&u.body, p, &u.trailers, func(content []byte, last bool) { pause = u.relay.ResponseData(content, last) })
	return n, pause, err
}

// Drained resumes the request, which was paused while the server's queue was full.
func (u *upstreamSide) Drained(*loop.Conn) { u.relay.UpstreamDrained() }

// HalfClosed handles the end of the server's bytes.
func (u *upstreamSide) HalfClosed(*loop.Conn) {
	switch {
	case u.reconnect():
	case u.state == receivingBody && u.body.End() == nil:
		u.complete(false)
	default:
		f := u.failure()
		u.pool.abort(u.conn)
		u.fail(f)
	}
}

// Timer does nothing: the Relay has the timers of a request.
func (u *upstreamSide) Timer(*loop.Conn, int) {}

// Closed handles a connection that could not be opened or has failed.
func (u *upstreamSide) Closed(_ *loop.Conn, err error) {
	if u.reconnect() {
		return
	}
	f := u.failure()
	if u.state == connecting {
		f.Err, f.TimedOut = err, errors.Is(err, os.ErrDeadlineExceeded)
	}
	u.pool.closed()
	u.fail(f)
}

// Shutdown closes the connection after the current response.
func (u *upstreamSide) Shutdown(*loop.Conn) { u.closing = true }

// complete ends the response. clean means that the connection can be reused: no further bytes have arrived, and the
// server has not closed its side.
func (u *upstreamSide) complete(clean bool) {
	switch {
	case !u.requestWritten:
		u.pool.abort(u.conn)
	case clean && u.head.KeepAlive && !u.closing:
		u.pool.put(u.conn)
	default:
		u.pool.close(u.conn)
	}
	relay, trailers := u.relay, u.trailers
	u.release()
	relay.ResponseEnd(trailers.Fields())
}

// failure describes the failure of the response. It depends on the state.
func (u *upstreamSide) failure() exchange.Failure {
	if u.state == connecting {
		return exchange.Failure{Cause: route.OnConnectFailure}
	}
	return exchange.Failure{Cause: route.OnReset, Sent: true, Stale: u.reused && u.state == awaitingHead}
}

// fail ends this side's part of the request and aborts the connection.
func (u *upstreamSide) fail(f exchange.Failure) {
	relay := u.relay
	u.release()
	relay.UpstreamFailed(f)
}

// malformed aborts the connection: the server sent bytes that are not a valid response to this request.
func (u *upstreamSide) malformed() {
	u.pool.abort(u.conn)
	relay := u.relay
	u.release()
	relay.ResponseMalformed()
}

// Cancel abandons the request.
func (u *upstreamSide) Cancel() {
	p, c := u.pool, u.conn
	switch u.state {
	case waiting:
		p.dequeue(u)
		u.release()
	case connecting:
		u.release()
		p.cancel(c)
	default:
		p.abort(c)
		u.release()
	}
}

// ResumeResponse ends a pause of the response's body.
func (u *upstreamSide) ResumeResponse() {
	if u.conn != nil {
		u.conn.ResumeReading()
	}
}

// RequestFull reports whether the server's queue is at its high watermark.
func (u *upstreamSide) RequestFull() bool { return u.conn.Full() }

// Unsent returns the number of request bytes that the server has not acknowledged.
func (u *upstreamSide) Unsent() int {
	if u.conn == nil {
		return 0
	}
	return u.conn.Unsent()
}

// MayResend returns ResendAll if the connection is not open, or the request is idempotent and the connection has served other requests. A head of
// HTTP/1.1 means that the queue of the connection has the body as the client has sent it.
func (u *upstreamSide) MayResend(h exchange.RequestHead, idempotent bool) exchange.Resend {
	_, same := h.(*requestHead)
	switch {
	case u.state == connecting || idempotent && u.reused:
		return exchange.ResendAll
	case same && u.reused:
		return exchange.ResendUnsent
	}
	return exchange.ResendNone
}

// setConn makes c the connection of the request.
func (u *upstreamSide) setConn(c *loop.Conn, reused bool) {
	u.conn, u.reused, u.bytesWritten = c, reused, 0
	if reused {
		u.enter(awaitingHead)
	} else {
		u.enter(connecting)
	}
	c.SetHandler(u)
}

// send writes a part of the request.
func (u *upstreamSide) send(p []byte) {
	u.conn.Write(p)
	u.bytesWritten += int64(len(p))
}

// sendBody writes a piece of the body. A large one leaves at once. The first piece on a reused connection does so only if the server has
// not closed the connection: otherwise the request can still move to another one.
func (u *upstreamSide) sendBody(p []byte) {
	if u.unsolicited() && (len(p) < largeRead || !u.conn.Quiet()) {
		u.send(p)
		return
	}
	u.conn.WriteNow(p)
	u.bytesWritten += int64(len(p))
}

// unsolicited reports whether the connection is reused and none of this request's bytes have been sent. Bytes that
// arrive now, or the end of the connection, do not belong to this request.
func (u *upstreamSide) unsolicited() bool {
	return u.reused && u.state == awaitingHead && int64(u.conn.Queued()) == u.bytesWritten
}

// reconnect replaces a reused connection by a new one before any byte of the request has been sent. This is safe for
// every method, because the server cannot have read the request. The endpoint's connection count stays the same.
func (u *upstreamSide) reconnect() bool {
	if !u.unsolicited() {
		return false
	}
	old, c := u.conn, u.pool.dial(u)
	if !old.MoveQueue(c, int(u.bytesWritten)) {
		c.SetHandler(loop.Base{})
		c.Abort(nil)
		return false
	}
	old.SetHandler(loop.Base{})
	old.Abort(nil)
	u.relay.Replay.KeepUnsent(u.unsentBody(c))
	u.conn, u.reused = c, false
	u.enter(connecting)
	return true
}

// unsentBody returns the pieces of the request's body in the queue of c, which has the request from its first byte.
func (u *upstreamSide) unsentBody(c *loop.Conn) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		head := u.headWritten
		for piece := range c.Queue() {
			n := min(head, len(piece))
			head -= n
			if n < len(piece) && !yield(piece[n:]) {
				return
			}
		}
	}
}

// release returns this side to its connectorLoop.
func (u *upstreamSide) release() {
	if u.head != nil {
		u.owner.putHead(u.head)
		u.head = nil
	}
	u.relay, u.pool, u.conn = nil, nil, nil
	u.reused, u.bytesWritten, u.headWritten, u.requestWritten, u.inChunks, u.upgrade, u.closing = false, 0, 0, false, false, false, false
	u.responseHead, u.framed, u.trailers = responseHead{}, false, nil
	u.tunnel, u.protocol, u.accept = false, u.protocol[:0], ""
	if u.state != unused {
		u.enter(unused)
	}
	u.owner.free.Put(u, maxFreeDownstreams)
}
