package bolt

import (
	"math"
	"time"

	"example.com/ferry/internal/bufpool"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// request is a request that a client has sent and that has no response yet. The list of its session has it until it ends. An
// upstream connection may hold it besides: upstreamConn.unsent before it is connected, upstreamConn.sent until the response begins,
// upstreamConn.response until a large response ends.
type request struct {
	x          exchange.Exchange
	loopState  *loopState
	downstream downstream
	upstream   upstreamSide    // the connection that holds it; nil if none does
	next, prev *request        // in the list of the session
	replay     *bufpool.Buf    // a copy of the frame, if it waits or may be sent again
	queued     *queuedResponse // its large response, while another one is being written

	clientID    uint32 // the id the client gave it
	sentID      uint32 // the id it has in upstreamConn.sent
	fixedHeader [wire.MaxFixed]byte
	oneway      bool
	large       bool // it passes in pieces
	replayable  bool // the route allows to send it twice

	receivedAt time.Duration // when its last byte had arrived
	timeout    time.Duration // from receivedAt on, over all attempts; negative means none
	deadline   time.Duration // of the attempt, on the loop's clock; 0 means none

	service, method []byte // for the access log
}

// noLimits are for frames that were checked before.
var noLimits = wire.Limits{MaxFrame: math.MaxInt32}

// frame returns the frame with its fixed header only.
func (r *request) frame() wire.Frame {
	f, _, _ := wire.Next(r.fixedHeader[:], noLimits)
	return f
}

// setTimeout sets the time the request may take: the shorter one of the route's and the client's.
func (r *request) setTimeout(f wire.Frame) {
	r.timeout = r.x.Route.Forward.Timeout
	if own := f.Timeout(); own > 0 && (r.timeout < 0 || own < r.timeout) {
		r.timeout = own
	}
}

// setDeadline sets the deadline of an attempt that begins now.
func (r *request) setDeadline(now time.Duration) {
	r.deadline = 0
	if r.timeout >= 0 {
		r.deadline = r.receivedAt + r.timeout
	}
	if retry := r.x.Route.Forward.Retry; retry != nil && retry.PerTryTimeout > 0 {
		if try := now + retry.PerTryTimeout; r.deadline == 0 || try < r.deadline {
			r.deadline = try
		}
	}
}

// timedOut reports whether the time for all attempts is over.
func (r *request) timedOut(now time.Duration) bool {
	return r.timeout >= 0 && now >= r.receivedAt+r.timeout
}

// keepReplay keeps a copy of the frame.
func (r *request) keepReplay(frame []byte) {
	if r.replay == nil {
		r.replay = bufpool.Get(len(frame))
		r.replay.B = append(r.replay.B, frame...)
	}
}

// send chooses an endpoint and a connection, and sends the frame f, whose bytes are frame. They are lent.
func (r *request) send(f wire.Frame, frame []byte) {
	pool := r.choosePool()
	if pool == nil {
		return
	}
	u := pool.sharedConn(f.Dialect(), r.downstream.closing())
	if u == nil {
		r.x.EndAttempt(upstream.Canceled)
		r.refuseOverload()
		return
	}
	u.send(r, f, frame)
}

// choosePool begins an attempt. If there cannot be one, it responds and returns nil.
func (r *request) choosePool() *pool {
	if why := r.x.Choose(); why != traffic.Forwarded {
		r.downstream.respondStatus(r, refusalStatus(why))
		return nil
	}
	return poolOf(r.x.Endpoint, r.loopState)
}

// refuse responds in place of the endpoint.
func (r *request) refuse(why traffic.Refusal) {
	r.downstream.respondStatus(r, refusalStatus(r.x.Refuse(why)))
}

func (r *request) refuseOverload() { r.refuse(traffic.Overload) }

// refusalStatus returns the status of the response to a request that is refused.
func refusalStatus(why traffic.Refusal) wire.Status {
	switch why {
	case traffic.RateLimited, traffic.Overload:
		return wire.StatusThreadpoolBusy
	case traffic.BadRequest:
		return wire.StatusCodec
	}
	return wire.StatusNoProcessor
}

// failureStatus has the status of the response to a request whose last attempt failed.
var failureStatus = map[route.Cause]wire.Status{
	route.OnConnectFailure: wire.StatusClientSend,
	route.OnReset:          wire.StatusClosed,
	route.OnTimeout:        wire.StatusTimeout,
}

// fail ends an attempt that no connection holds. The request is sent again, or gets an error response. sent says that the endpoint
// may have received a part of it.
func (r *request) fail(why route.Cause, sent bool) {
	r.upstream = nil
	now := r.loopState.loop.Now()
	whole := r.replay != nil || r.downstream.uploadPending(r)
	if !whole || r.timedOut(now) {
		r.x.Lost(why)
	} else if r.x.Failed(nil, why, sent) {
		if r.large {
			r.downstream.connectUpload(r)
			return
		}
		f, _, _ := wire.Next(r.replay.B, noLimits)
		r.send(f, r.replay.B)
		return
	}
	if r.timedOut(now) {
		why = route.OnTimeout
	}
	r.downstream.respondStatus(r, failureStatus[why])
}

// responseOutcome returns the outcome of an attempt by the status of its response. Only a status by which a server reports its own
// overload or failure is a Failure: exceptions of the application, and requests for a missing service, are not.
func responseOutcome(s wire.Status) upstream.Outcome {
	switch s {
	case wire.StatusThreadpoolBusy, wire.StatusComm, wire.StatusClosed:
		return upstream.Failure
	}
	return upstream.Success
}
