package bolt

import (
	"math"
	"time"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// request is a client's request that has no response yet. It is in the list of its session until it ends. An upstream
// connection may hold it too. While the connection is not open, the request is in upstreamConn.unsent. Afterwards it
// is in upstreamConn.sent until the response begins. During a large response it is in upstreamConn.response.
type request struct {
	exchange   exchange.Exchange
	loopState  *loopState
	downstream *session
	upstream   *upstreamConn      // connection that holds the request, or nil
	next, prev *request           // neighbors in the session's list
	replay     exchange.HeldBytes // copy of the frame, kept while the request waits or may be sent again
	queued     *queuedResponse    // the request's large response while it waits for another large response

	clientID    uint32 // id that the client gave the request
	sentID      uint32 // id of the request in upstreamConn.sent
	fixedHeader [wire.MaxFixed]byte
	oneway      bool
	large       bool // the frame passes in pieces
	replayable  bool // the route allows sending the request twice

	receivedAt time.Duration // when the last byte of the request arrived
	timeout    time.Duration // limit for all attempts together, counted from receivedAt; negative means none
	deadline   time.Duration // deadline of the current attempt on the loop's clock; 0 means none

	service, method []byte // copies for the access log
}

// noLimits is for frames that have passed the limits before.
var noLimits = wire.Limits{MaxFrame: math.MaxInt32}

// frame returns a wire.Frame that has the fixed header only.
func (r *request) frame() wire.Frame {
	f, _, _ := wire.Next(r.fixedHeader[:], noLimits)
	return f
}

// setTimeout sets the request's timeout to the smaller of the route's and the client's.
func (r *request) setTimeout(f wire.Frame) {
	r.timeout = r.exchange.Route.Forward.Timeout
	if own := f.Timeout(); own > 0 && (r.timeout < 0 || own < r.timeout) {
		r.timeout = own
	}
}

// setDeadline sets the deadline of an attempt that begins at now.
func (r *request) setDeadline(now time.Duration) {
	r.deadline = 0
	if r.timeout >= 0 {
		r.deadline = r.receivedAt + r.timeout
	}
	if retry := r.exchange.Route.Forward.Retry; retry != nil && retry.PerTryTimeout > 0 {
		if try := now + retry.PerTryTimeout; r.deadline == 0 || try < r.deadline {
			r.deadline = try
		}
	}
}

// timedOut reports whether the timeout of the request has passed.
func (r *request) timedOut(now time.Duration) bool {
	return r.timeout >= 0 && now >= r.receivedAt+r.timeout
}

// keepReplay copies the frame to replay.
func (r *request) keepReplay(frame []byte) {
	if r.replay.Empty() {
		r.replay.Append(r.loopState.loop, frame)
	}
}

// send chooses an endpoint and a connection, and sends the request. f is the parsed frame, and frame is its bytes,
// which are lent.
func (r *request) send(f wire.Frame, frame []byte) {
	pool := r.choosePool()
	if pool == nil {
		return
	}
	u := pool.sharedConn(f.Dialect(), r.downstream.closing())
	if u == nil {
		r.exchange.EndAttempt(upstream.Canceled)
		r.refuseOverload()
		return
	}
	u.send(r, f, frame)
}

// choosePool begins an attempt and returns the pool of the chosen endpoint. If no attempt is possible, choosePool
// sends an error response and returns nil.
func (r *request) choosePool() *pool {
	if why := r.exchange.Choose(); why != traffic.Forwarded {
		r.downstream.respondStatus(r, refusalStatus(why))
		return nil
	}
	return poolOf(r.exchange.Endpoint, r.loopState)
}

// refuse sends an error response of the proxy's own.
func (r *request) refuse(why traffic.Refusal) {
	r.downstream.respondStatus(r, refusalStatus(r.exchange.Refuse(why)))
}

func (r *request) refuseOverload() { r.refuse(traffic.Overload) }

// refusalStatus returns the response status of a refused request.
func refusalStatus(why traffic.Refusal) wire.Status {
	switch why {
	case traffic.RateLimited, traffic.ClientRateLimited, traffic.Overload, traffic.Shed:
		return wire.StatusThreadpoolBusy
	case traffic.BadRequest:
		return wire.StatusCodec
	}
	return wire.StatusNoProcessor
}

// failureStatus maps the cause of the last failed attempt to the status of the response.
var failureStatus = map[route.Cause]wire.Status{
	route.OnConnectFailure: wire.StatusClientSend,
	route.OnReset:          wire.StatusClosed,
	route.OnTimeout:        wire.StatusTimeout,
}

// fail ends an attempt whose request is on no connection. The request is either sent again or gets an error response.
// sent means that the endpoint may have received a part of the request.
func (r *request) fail(why route.Cause, sent bool) {
	r.upstream = nil
	now := r.loopState.loop.Now()
	whole := !r.replay.Empty() || r.downstream.uploadPending(r)
	if !whole || r.timedOut(now) {
		r.exchange.Lost(why)
	} else if r.exchange.Failed(false, why, sent) {
		if r.large {
			r.downstream.connectUpload(r)
			return
		}
		f, _, _ := wire.Next(r.replay.Bytes(), noLimits)
		r.send(f, r.replay.Bytes())
		return
	}
	if r.timedOut(now) {
		why = route.OnTimeout
	}
	r.downstream.respondStatus(r, failureStatus[why])
}

// endAttempt ends an attempt that has a response. A status that reports an overload or a failure of the server is a Failure. An exception of
// the application, or a missing service, is not.
func (r *request) endAttempt(s wire.Status) {
	switch s {
	case wire.StatusThreadpoolBusy, wire.StatusComm, wire.StatusClosed:
		r.exchange.Responded(s.String())
		r.exchange.EndAttempt(upstream.Failure)
	default:
		r.exchange.EndAttempt(upstream.Success)
	}
}
