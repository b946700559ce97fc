package http1

import (
	"errors"
	"os"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"

	wire "example.com/ferry/protocol/http1"
)

// upstreamSide is the server's side of a request, and handles the connection to the server while the request has it. A
// connectorLoop uses it again for other requests.
type upstreamSide struct {
	owner *connectorLoop
	relay *exchange.Relay
	pool  *pool
	conn  *loop.Conn // nil while waiting
	state upstreamState

	// The request.
	reused   bool // the connection has served other requests
	written  int  // bytes of the request, of those queued too
	whole    bool // it has been written to its end
	inChunks bool // its body comes as content and is written in chunks
	upgrade  bool // the server was asked for another protocol
	method   wire.Method

	// The response.
	head         wire.Head
	responseHead responseHead
	body         wire.Body
	framed       bool           // the downstream side takes the body as it lies
	trailers     *trailerFields // of a body that is not framed
	closing      bool           // the connection is to be closed behind it
}

var (
	_ loop.Shutdowner   = (*upstreamSide)(nil)
	_ exchange.Upstream = (*upstreamSide)(nil)
)

// Opened notes that the connection is there. The request is queued already.
func (u *upstreamSide) Opened(*loop.Conn) { u.enter(awaitingHead) }

// Data takes the bytes of the response.
func (u *upstreamSide) Data(c *loop.Conn, p []byte) int {
	if u.unsolicited() && u.reconnect() {
		return len(p)
	}
	if u.state == awaitingHead {
		u.enter(receivingHead)
	}
	n := 0
	for u.state == receivingHead {
		m, err := wire.ParseResponse(p[n:], &u.head, u.method, u.owner.connector.limits.Load())
		if err != nil {
			u.malformed()
			return len(p)
		}
		if m == 0 {
			return n
		}
		u.responseHead = responseHead{&u.head, p[n : n+m]}
		n += m
		if over := u.takeHead(c, p[n:]); over {
			return len(p)
		}
	}
	m, pause, err := u.takeBody(p[n:])
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
	return n
}

// takeHead handles a head of a response. behind is what follows it. It reports whether this side's part is over.
func (u *upstreamSide) takeHead(c *loop.Conn, behind []byte) (over bool) {
	switch status := u.head.Status; {
	case status == 101 && u.upgrade:
		u.becomeTunnel(behind)
		return true
	case status == 101:
		u.malformed()
		return true
	case status/100 == 1:
		if u.relay.Interim(&u.responseHead) {
			c.PauseReading()
		}
		return false
	}
	framed, ok := u.relay.Response(&u.responseHead, u.head.Framing == wire.BodyNone)
	if !ok {
		return true
	}
	u.framed = framed
	u.body = u.head.Body(u.owner.connector.limits.Load())
	u.enter(receivingBody)
	return false
}

// takeBody passes on what p has of the response's body.
func (u *upstreamSide) takeBody(p []byte) (n int, pause bool, err error) {
	if u.framed {
		if n, err = u.body.Take(p); n > 0 {
			pause = u.relay.ResponseData(p[:n])
		}
		return n, pause, err
	}
	n, err = passContent(&u.body, p, &u.trailers, func(content []byte) { pause = u.relay.ResponseData(content) })
	return n, pause, err
}

// Drained resumes the request, which was paused while the server's queue was full.
func (u *upstreamSide) Drained(*loop.Conn) { u.relay.UpstreamDrained() }

// HalfClosed is the end of what the server sends.
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

// Closed is a connection that was not made, or that broke.
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

// Shutdown makes the response the connection's last one.
func (u *upstreamSide) Shutdown(*loop.Conn) { u.closing = true }

// complete ends the response. clean says that nothing is behind it, read or in the kernel, and that the server has not ended
// its side.
func (u *upstreamSide) complete(clean bool) {
	switch {
	case !u.whole:
		u.pool.abort(u.conn)
	case clean && u.head.KeepAlive && !u.closing:
		u.pool.put(u.conn)
	default:
		u.pool.close(u.conn)
	}
	relay, trailers := u.relay, u.trailers
	u.release()
	relay.ResponseEnd(trailers.fields())
}

// failure says how the response failed, by the state.
func (u *upstreamSide) failure() exchange.Failure {
	if u.state == connecting {
		return exchange.Failure{Cause: route.OnConnectFailure}
	}
	return exchange.Failure{Cause: route.OnReset, Sent: true, Stale: u.reused && u.state == awaitingHead}
}

// fail ends this side's part. Its connection is given up.
func (u *upstreamSide) fail(f exchange.Failure) {
	relay := u.relay
	u.release()
	relay.UpstreamFailed(f)
}

// malformed gives up a server that sent what is no response, or not to this request.
func (u *upstreamSide) malformed() {
	u.pool.abort(u.conn)
	relay := u.relay
	u.release()
	relay.ResponseMalformed()
}

// Cancel gives the request up.
func (u *upstreamSide) Cancel() {
	if u.state == waiting {
		u.pool.dequeue(u)
	} else {
		u.pool.abort(u.conn)
	}
	u.release()
}

// ResumeResponse ends a pause of the response's body.
func (u *upstreamSide) ResumeResponse() {
	if u.conn != nil {
		u.conn.ResumeReading()
	}
}

// RequestFull reports whether the server's queue is at its high watermark.
func (u *upstreamSide) RequestFull() bool { return u.conn.Full() }

// Unsent is how many bytes of the request the server has not acknowledged.
func (u *upstreamSide) Unsent() int {
	if u.conn == nil {
		return 0
	}
	return u.conn.Unsent()
}

// Reused reports whether the connection served other requests before.
func (u *upstreamSide) Reused() bool { return u.reused }

// use gives the request a connection.
func (u *upstreamSide) use(c *loop.Conn, reused bool) {
	u.conn, u.reused, u.written = c, reused, 0
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
	u.written += len(p)
}

// unsolicited reports whether the connection was kept from another request and none of this one's bytes have left. What comes
// from the server then, bytes or an end, has nothing to do with this request.
func (u *upstreamSide) unsolicited() bool {
	return u.reused && u.state == awaitingHead && u.conn.Queued() == u.written
}

// reconnect moves a request of which nothing has left from a kept connection to a new one. That is safe for every method: the
// server cannot have read it. The new connection takes the old one's place in the endpoint's count.
func (u *upstreamSide) reconnect() bool {
	if !u.unsolicited() {
		return false
	}
	old, c := u.conn, u.pool.dial(u)
	if !old.MoveQueue(c, u.written) {
		c.SetHandler(loop.Base{})
		c.Abort(nil)
		return false
	}
	old.SetHandler(loop.Base{})
	old.Abort(nil)
	u.conn, u.reused = c, false
	u.enter(connecting)
	return true
}

// release gives this side back to its connectorLoop.
func (u *upstreamSide) release() {
	u.head.Reset()
	u.relay, u.pool, u.conn = nil, nil, nil
	u.reused, u.written, u.whole, u.inChunks, u.upgrade, u.closing = false, 0, false, false, false, false
	u.responseHead, u.framed, u.trailers = responseHead{}, false, nil
	if u.state != unused {
		u.enter(unused)
	}
	u.owner.put(u)
}
