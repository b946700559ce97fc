package http2

import (
	"example.com/ferry/internal/balance"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"

	wire "example.com/ferry/protocol/http2"
)

// upstreamSide is the server's side of a request: one stream of a serverConn. A connectorLoop reuses it for other
// requests.
type upstreamSide struct {
	owner   *connectorLoop
	relay   *exchange.Relay
	pool    *pool
	conn    *serverConn  // nil while waiting for a stream
	stream  *wire.Stream // nil while waiting for a stream
	state   upstreamState
	suspect bool // it uses the connection of suspects
	tunnel  bool // the request asks for a tunnel: extended CONNECT
	size    int  // of the request's head, RFC 9113, section 6.5.2; 0 if it is small

	// The request.
	reused       bool // the connection has carried other requests
	requestEnded bool // END_STREAM is written or queued

	// The response.
	head     bool // the request is a HEAD request: the response has no body
	noBody   bool // no body may follow the response's head
	paused   bool // the response is paused: its window is withheld
	withheld int  // bytes of the window that are withheld
}

var _ exchange.Upstream = (*upstreamSide)(nil)

// open opens a stream of sc for the request.
func (u *upstreamSide) open(sc *serverConn) {
	u.conn, u.reused = sc, sc.used
	u.stream = sc.openStream()
	u.stream.User = u
	u.enter(awaitingHead)
}

// handleHead handles the head of a response or of an interim response.
func (u *upstreamSide) handleHead(h *responseHead, end bool) {
	status := h.Status()
	switch {
	case u.state != awaitingHead, status == 101: // RFC 9113, section 8.6: HTTP/2 has no 101
		u.malformed()
		return
	case status/100 == 1:
		u.paused = u.relay.Interim(h) || u.paused
		return
	}
	if _, ok := u.relay.Response(h, end); !ok {
		return // canceled: u may already serve another request
	}
	u.noBody = u.head || status == 204 || status == 304
	u.enter(receivingBody)
	if end {
		u.complete(nil)
	}
}

// handleBody passes on a piece of the response's body. If the client's queue is full, the window of the stream stays
// reduced, so the server sends no more than the rest of the window.
func (u *upstreamSide) handleBody(p []byte, end bool) {
	if u.state != receivingBody || u.noBody && len(p) > 0 {
		u.malformed()
		return
	}
	if len(p) > 0 {
		pause := u.relay.ResponseData(p, end)
		if u.paused = u.paused || pause; u.paused {
			u.withheld += len(p)
		} else {
			u.stream.Consumed(len(p))
		}
	}
	if end {
		u.complete(nil)
	}
}

// handleReset handles a stream that ended without a complete response.
func (u *upstreamSide) handleReset(why wire.StreamError) {
	sc := u.conn
	switch {
	case sc.state == serverClosed && !sc.opened:
		u.fail(sc.failure())
	case sc.state == serverClosed:
		u.fail(sc.lossOf(sc.peerClosed && u.reused && u.state == awaitingHead))
	case why.Refused:
		u.fail(exchange.Failure{Cause: route.OnRefusedStream, Stale: sc.http2.PeerGoneAway()})
	case !why.Remote:
		u.malformed()
	default:
		if why.Code != wire.Cancel && why.Code != wire.NoError {
			sc.fault(u.relay.Client())
		}
		u.fail(exchange.Failure{Cause: route.OnReset, Sent: true, Canceled: why.Code == wire.Cancel})
	}
}

// complete ends the response. trailers is nil if there are none.
func (u *upstreamSide) complete(trailers exchange.Fields) {
	relay, sc := u.relay, u.conn
	if u.requestEnded {
		sc.account.complete()
	}
	u.release()
	relay.ResponseEnd(trailers)
	sc.afterStream()
}

// fail ends this side's part of the request.
func (u *upstreamSide) fail(f exchange.Failure) {
	relay, sc := u.relay, u.conn
	u.release()
	relay.UpstreamFailed(f)
	if sc != nil {
		sc.afterStream()
	}
}

// malformed resets the stream: the server sent what is not a valid response to this request.
func (u *upstreamSide) malformed() {
	relay, sc := u.relay, u.conn
	u.stream.Reset(wire.ProtocolError)
	sc.fault(balance.OwnRequest)
	u.release()
	relay.ResponseMalformed()
	sc.afterStream()
}

// Cancel abandons the request.
func (u *upstreamSide) Cancel() {
	sc := u.conn
	if sc != nil {
		u.release()
		sc.afterStream()
		return
	}
	p := u.pool
	p.dequeue(u)
	u.release()
	p.closeUnused()
}

// ResumeResponse ends a pause of the response's body.
func (u *upstreamSide) ResumeResponse() {
	if u.paused {
		u.paused = false
		u.stream.Consumed(u.withheld)
		u.withheld = 0
	}
}

// RequestFull reports whether the stream's queue is at its high watermark.
func (u *upstreamSide) RequestFull() bool { return u.stream.Full() }

// Unsent returns the number of request bytes that wait for the server's window.
func (u *upstreamSide) Unsent() int {
	if u.stream == nil {
		return 0
	}
	return u.stream.Queued()
}

// MayResend returns ResendAll: a server may refuse any stream.
func (u *upstreamSide) MayResend(exchange.RequestHead, bool) exchange.Resend {
	return exchange.ResendAll
}

// release ends the stream and returns this side to its connectorLoop. If the request or the response is incomplete, the
// server gets RST_STREAM.
func (u *upstreamSide) release() {
	if s := u.stream; s != nil {
		if !s.Ended() {
			if s.ID() != 0 {
				u.conn.fault(u.relay.Client())
			}
			s.Reset(wire.Cancel) // what is queued of the request is of no use any more
		}
		s.Release()
		u.conn.usedAt = u.pool.loop.Now()
	}
	if u.state != unused {
		u.enter(unused)
	}
	*u = upstreamSide{owner: u.owner}
	u.owner.free.Put(u, maxFreeUpstreams)
}
