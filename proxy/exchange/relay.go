package exchange

import (
	"cmp"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// Relay carries one request between its Downstream and an Upstream: it is the one place for attempts and retries, for the times
// that bound a request, and for its lines in counters and access log. A downstream side embeds one and uses it for one request
// after another. Its methods are for its loop only.
//
// Three states say how far a request is, and relay_state.go has what leads from one to the next.
type Relay struct {
	Exchange
	Changes Changes      // for the attempts to come
	Method  []byte       // the request's, if one of it may be sent twice (RFC 9110, section 9.2.2); else nil
	Replay  ReplayBuffer // what came so far, as the downstream side keeps it

	down     Downstream
	up       Upstream // nil while there is no attempt
	limits   Timeouts
	request  requestState
	response responseState
	attempt  attemptState
	resent   bool // a stale connection was left once

	continueAwaited bool // the client waits for 100 Continue, which the server has not sent

	deadlines deadlines
	movedAt   time.Duration // loop.Now when a byte of either body last moved
	unsent    int           // what both sides had not taken when stallDeadline last passed; 0 if bytes have moved since
	rate      bodyRate
}

// Timeouts bound what the two sides of a request may take. They come from the listener.
type Timeouts struct {
	Body     time.Duration // in which no byte of either body moves; not above 0 means no bound
	BodyRate int           // bytes of the request's body in a second, averaged over RatePeriod; not above 0 means no floor

	// RatePeriod is over how much time the rate of a request's body is averaged, and the grace in which there is no floor. Zero
	// means 10 s.
	RatePeriod time.Duration
}

// Init readies a Relay for the requests of d, on a loop. It comes before all else, once.
func (r *Relay) Init(d Downstream, l *loop.Loop) {
	r.down = d
	r.deadlines.loop, r.deadlines.timer = l, l.NewTimer(r.expire)
	r.Replay.Reset()
}

// Begin begins a request, at its first byte.
func (r *Relay) Begin(p *Plan, t Timeouts) {
	r.Exchange.Begin(p, r.deadlines.loop)
	r.limits = t
	r.limits.RatePeriod = cmp.Or(t.RatePeriod, defaultRatePeriod)
	r.request, r.response, r.attempt = requestOpen, responseAwaited, noAttempt
}

// Release ends the use of the Relay for a request. Begin may follow.
func (r *Relay) Release() {
	r.deadlines.stopAll()
	r.Replay.Reset()
	r.Changes, r.Method, r.resent, r.continueAwaited, r.unsent = Changes{}, nil, false, false, 0
}

// Forward sends an admitted request to an endpoint of its cluster. Downstream.SendRequest or Downstream.Reject follows: within
// the call, unless the request has to wait for a connection.
// h is the request's head.
func (r *Relay) Forward(h RequestHead) {
	r.addRouteChanges(h.Path())
	r.continueAwaited = h.ExpectsContinue() && !r.Changes.ContinueSent
	r.connect(false)
}

// addRouteChanges adds what the route changes in the request's head. An empty path is routed as "/".
func (r *Relay) addRouteChanges(path []byte) {
	c, f := &r.Changes, &r.Route.Forward
	c.Host, c.Fields = f.Rewrite.Host, r.Route.RequestEdits
	if len(path) > 0 {
		c.Strip, c.Prefix = r.Route.Rewrite(path)
		return
	}
	_, c.Prefix = r.Route.Rewrite(rootPath) // there is no slash to strip
}

var rootPath = []byte("/")

// connect begins an attempt.
func (r *Relay) connect(fresh bool) {
	if why := r.Choose(); why != traffic.Forwarded {
		r.reject(rejection(why))
		return
	}
	up, ready := r.Plan.Connectors[r.cluster].Open(r, fresh)
	switch {
	case up == nil:
		r.reject(rejection(r.Refuse(traffic.Overload)))
		return
	case ready:
		r.up, r.attempt = up, attemptOpen
		r.down.SendRequest(up)
		r.resumeRetried()
	default:
		r.up, r.attempt = up, attemptWaiting
	}
	r.startTry()
}

// resumeRetried ends a pause that the attempt before began: its Upstream was full, and that of this attempt is not.
func (r *Relay) resumeRetried() {
	if r.Attempt > 1 && r.request == requestOpen && r.Ready() && !r.up.RequestFull() {
		r.down.ResumeRequest()
	}
}

// Connected says that an Upstream that had to wait has its connection.
func (r *Relay) Connected() {
	r.attempt = attemptOpen
	r.down.SendRequest(r.up)
	if !r.KeepsRequest() {
		r.Replay.Forget()
	}
	if r.request == requestOpen {
		r.rate.paused = true // until now
		r.Moved()
		r.down.ResumeRequest()
	}
	r.startTry()
}

// Ready reports whether there is an Upstream that takes RequestData.
func (r *Relay) Ready() bool { return r.attempt == attemptOpen }

// Loop is the loop that the request belongs to.
func (r *Relay) Loop() *loop.Loop { return r.deadlines.loop }

// Downstream is the side that Init was given.
func (r *Relay) Downstream() Downstream { return r.down }

// Detach gives up the request for a tunnel: the attempt has succeeded, no side is called any more, and the caller keeps the
// Exchange until it ends it.
func (r *Relay) Detach() Exchange {
	r.EndAttempt(upstream.Success)
	r.up, r.attempt, r.response = nil, noAttempt, responseEnded
	r.deadlines.stopAll()
	return r.Exchange
}

// Upstream is that of the attempt under way, nil if there is none.
func (r *Relay) Upstream() Upstream { return r.up }

// KeepsRequest reports whether the request may have to be sent again: the downstream side then keeps it in Replay.
func (r *Relay) KeepsRequest() bool {
	return r.attempt == attemptWaiting || r.Route.Forward.Retry != nil || r.Method != nil && r.up != nil && r.up.Reused()
}

// RequestData passes on bytes of the request's body, content or framed as the Upstream said. It reports whether the client is
// to be paused until ResumeRequest. Ready must be true.
func (r *Relay) RequestData(p []byte) (pause bool) {
	r.up.RequestData(p)
	r.Moved()
	if r.up.RequestFull() {
		r.rate.paused = true
		return true
	}
	return false
}

// RequestEnd says that the request is whole: the time for its response begins.
func (r *Relay) RequestEnd(trailers Fields) {
	r.request = requestEnded
	r.deadlines.stop(rateDeadline)
	if r.attempt == attemptOpen {
		r.up.RequestEnd(trailers)
	}
	if r.response != responseAwaited {
		return
	}
	r.deadlines.stop(stallDeadline)
	if r.Route.Forward.Timeout > 0 {
		r.deadlines.set(responseDeadline, r.Route.Forward.Timeout)
	}
	r.startTry()
}

// RequestEnded reports whether the request is whole.
func (r *Relay) RequestEnded() bool { return r.request == requestEnded }

// startTry begins the time of one attempt, once the request is whole.
func (r *Relay) startTry() {
	if retry := r.Route.Forward.Retry; retry != nil && retry.PerTryTimeout > 0 && r.request == requestEnded && r.up != nil {
		r.deadlines.set(tryDeadline, retry.PerTryTimeout)
	}
}

// UpstreamDrained says that the server has taken what made RequestFull true.
func (r *Relay) UpstreamDrained() {
	if r.request == requestOpen {
		r.Moved()
		r.down.ResumeRequest()
	}
}

// DownstreamDrained says that the client has taken what made ResponseFull true.
func (r *Relay) DownstreamDrained() {
	if r.up == nil {
		return
	}
	if r.response == responseStarted {
		r.Moved()
	}
	r.up.ResumeResponse()
}

// Interim passes on a response of 1xx. It reports whether the server is to be paused until ResumeResponse.
func (r *Relay) Interim(h ResponseHead) (pause bool) {
	if r.continueAwaited && h.Status() == 100 {
		r.continueAwaited, r.rate.paused = false, true // until now
	}
	r.down.Interim(h)
	return r.down.ResponseFull()
}

// Response passes on the response's head. If ok is false, the route repeats a request with that status: the Upstream was
// canceled, and its part is over. framed asks for the body as it lies. ResponseEnd follows in any case.
func (r *Relay) Response(h ResponseHead, end bool) (framed, ok bool) {
	status := h.Status()
	if r.Replay.Whole && r.Repeat(r.Method, status) {
		r.cancel()
		r.retry()
		return false, false
	}
	r.EndAttempt(outcome(status))
	r.response = responseStarted
	r.deadlines.stop(responseDeadline)
	r.deadlines.stop(tryDeadline)
	if !end {
		r.Moved()
	}
	return r.down.Response(h, end), true
}

// ResponseData passes on bytes of the response's body. It reports whether the server is to be paused until ResumeResponse.
func (r *Relay) ResponseData(p []byte) (pause bool) {
	r.down.ResponseData(p)
	r.Moved()
	return r.down.ResponseFull()
}

// ResponseEnd ends the response. The Upstream has let go of its connection, and its part is over.
func (r *Relay) ResponseEnd(trailers Fields) {
	r.up, r.attempt, r.response = nil, noAttempt, responseEnded
	r.down.ResponseEnd(trailers)
}

// UpstreamFailed says that there is no response, or no whole one. The Upstream's part is over.
func (r *Relay) UpstreamFailed(f Failure) {
	r.up, r.attempt = nil, noAttempt
	if f.Err != nil && f.Cause == route.OnConnectFailure {
		r.NotConnected(f.Err)
	}
	switch {
	case r.response != responseAwaited:
		r.reset()
	case f.Stale && !r.resent && r.Replay.Whole && (!f.Sent || r.Method != nil):
		// The server had closed the connection before it saw the request, or might have: RFC 9112, section 9.3.1. That says nothing
		// about its health.
		r.resent = true
		r.EndAttempt(upstream.Canceled)
		r.connect(true)
	case r.Replay.Whole && r.Failed(r.Method, f.Cause, f.Sent):
		r.retry()
	default:
		r.Lost(f.Cause)
		if f.TimedOut {
			r.reject(GatewayTimeout)
		} else {
			r.reject(BadGateway)
		}
	}
}

// ResponseMalformed says that the server sent what is no response, or not to this request. The Upstream's part is over.
func (r *Relay) ResponseMalformed() {
	r.up, r.attempt = nil, noAttempt
	if r.response != responseAwaited {
		r.reset()
		return
	}
	r.EndAttempt(upstream.Failure)
	r.reject(BadGateway)
}

// Abandon gives up the attempt under way, as the client is gone, or its request is answered otherwise.
func (r *Relay) Abandon() { r.cancel() }

// RejectRequest answers a request that is not forwarded, for a reason that Admit gave.
func (r *Relay) RejectRequest(why traffic.Refusal) { r.reject(rejection(why)) }

// Finish counts the request, logs it if it is to be, and ends it. h is its head, nil if it has none; client is the client's
// address, without a port, and status the response's, 0 if the client has not got one.
func (r *Relay) Finish(h RequestHead, client func() string, status int) {
	code := traffic.Code(0)
	if status != 0 {
		code = traffic.HTTP(status)
	}
	r.response = responseEnded
	if r.Logs(code) {
		e := NewEntry(h, client(), status)
		r.Log(&e, code)
	}
	r.End(code)
}

// NewEntry returns a line of the access log with what a head says: views of it.
func NewEntry(h RequestHead, client string, status int) traffic.Entry {
	e := traffic.Entry{Client: client, Status: status}
	if h == nil {
		return e
	}
	e.Method, e.Host, e.Path = h.Method(), h.Authority(), h.Path()
	if trace := h.Get("traceparent"); trace != nil {
		e.Trace = traffic.TraceID(trace)
	}
	return e
}

func (r *Relay) cancel() {
	if up := r.up; up != nil {
		r.up, r.attempt = nil, noAttempt
		up.Cancel()
	}
}

// retry begins another attempt.
func (r *Relay) retry() {
	r.deadlines.stop(tryDeadline)
	r.connect(false)
}

// reject has the downstream side answer. The time for the response is over, and so is that for its attempt.
func (r *Relay) reject(why Rejection) {
	r.deadlines.stopAll()
	r.response = responseEnded
	r.down.Reject(why)
}

// reset has the downstream side end a response that began.
func (r *Relay) reset() {
	r.response = responseEnded
	r.down.Reset()
}

func outcome(status int) upstream.Outcome {
	if status >= 500 {
		return upstream.Failure
	}
	return upstream.Success
}
