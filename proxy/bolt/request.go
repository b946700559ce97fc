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

// request is one that a client has sent and that was not answered yet. It is in the list of its session all the time, and at
// most one of these holds it besides: upstreamConn.waiting, upstreamConn.sent, upstreamConn.answer, session.upload.
type request struct {
	x          exchange.Exchange
	session    *session
	next, prev *request      // of the session
	conn       *upstreamConn // that holds it; nil if none does
	copy       *bufpool.Buf  // the frame, if it waits or may be sent again
	began      time.Duration // when its last byte was here
	deadline   time.Duration // of the attempt, on the loop's clock; 0 means none
	id         uint32        // the client's
	sentAs     uint32        // the one it has upstream
	oneway     bool
	streams    bool // it passes in pieces
	repeats    bool // it may be sent again after it was sent
	fixed      [wire.MaxFixed]byte
	timeout    time.Duration // from began on, over all attempts; negative means none

	called, method []byte // service and method, for the access log
}

// anySize are the limits for what was let in already.
var anySize = wire.Limits{MaxFrame: math.MaxInt32}

// frame is the request's fixed header.
func (r *request) frame() wire.Frame {
	f, _, _ := wire.Next(r.fixed[:], anySize)
	return f
}

// bound sets how long the request may take: as long as client and route allow.
func (r *request) bound(f wire.Frame) {
	r.timeout = r.x.Route.Forward.Timeout
	if own := f.Timeout(); own > 0 && (r.timeout < 0 || own < r.timeout) {
		r.timeout = own
	}
}

// attempt sets the deadline of an attempt that begins now.
func (r *request) attempt(now time.Duration) {
	r.deadline = 0
	if r.timeout >= 0 {
		r.deadline = r.began + r.timeout
	}
	if retry := r.x.Route.Forward.Retry; retry != nil && retry.PerTryTimeout > 0 {
		if try := now + retry.PerTryTimeout; r.deadline == 0 || try < r.deadline {
			r.deadline = try
		}
	}
}

// late reports whether the time for all attempts together is over.
func (r *request) late(now time.Duration) bool { return r.timeout >= 0 && now >= r.began+r.timeout }

// keep has the request own its frame.
func (r *request) keep(frame []byte) {
	if r.copy == nil {
		r.copy = bufpool.Get(len(frame))
		r.copy.B = append(r.copy.B, frame...)
	}
}

// send chooses an endpoint and sends the frame f there, whose bytes are frame. It is lent.
func (r *request) send(f wire.Frame, frame []byte) {
	pool := r.choose()
	if pool == nil {
		return
	}
	u := pool.shared(f.Dialect(), r.session.leaving != staying)
	if u == nil {
		r.x.Answered(upstream.Canceled)
		r.refuse(traffic.Overload)
		return
	}
	u.take(r, f, frame)
}

// choose begins an attempt. It answers the request if there cannot be one, and returns nil.
func (r *request) choose() *pool {
	if why := r.x.Choose(); why != traffic.Forwarded {
		r.session.finish(r, status(why))
		return nil
	}
	return poolOf(r.x.Endpoint, r.session.worker)
}

// refuse has the request answered by the proxy.
func (r *request) refuse(why traffic.Refusal) { r.session.finish(r, status(r.x.Refuse(why))) }

// status is what a client is told that is refused.
func status(why traffic.Refusal) wire.Status {
	switch why {
	case traffic.RateLimited, traffic.Overload:
		return wire.StatusThreadpoolBusy
	case traffic.BadRequest:
		return wire.StatusCodec
	}
	return wire.StatusNoProcessor
}

// failures are what a client is told whose request's last attempt failed.
var failures = map[route.Cause]wire.Status{
	route.OnConnectFailure: wire.StatusClientSend,
	route.OnReset:          wire.StatusClosed,
	route.OnTimeout:        wire.StatusTimeout,
}

// fail ends an attempt that no connection holds any more: it is repeated, or the client told. sent says that the server may
// have seen some of the request.
func (r *request) fail(why route.Cause, sent bool) {
	r.conn = nil
	s, now := r.session, r.session.worker.loop.Now()
	whole := r.copy != nil || r.streams && s.upload.waits == r
	if !whole || r.late(now) {
		r.x.Lost(why)
	} else if r.x.Failed(nil, why, sent) {
		if r.streams {
			s.place(r)
			return
		}
		f, _, _ := wire.Next(r.copy.B, anySize)
		r.send(f, r.copy.B)
		return
	}
	if r.late(now) {
		why = route.OnTimeout
	}
	s.finish(r, failures[why])
}

// outcome is what an answer's status says of the server: it failed if it says so of itself. What the application threw, and
// what the client has brought about, as by calling what nobody serves, is an answer like others.
func outcome(s wire.Status) upstream.Outcome {
	switch s {
	case wire.StatusThreadpoolBusy, wire.StatusComm, wire.StatusClosed:
		return upstream.Failure
	}
	return upstream.Success
}
