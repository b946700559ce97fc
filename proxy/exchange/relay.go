package exchange

import (
	"bytes"
	"cmp"
	"net/http"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/protocol/httprule"
	"example.com/ferry/proxy/limit"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// Relay carries one request between its Downstream and an Upstream. It alone handles attempts and retries, timeouts,
// counters and the access log entry. A downstream side embeds one Relay and reuses it for one request after another.
// Only the Relay's loop may call its methods.
//
// The progress of a request is described by three states. relay_state.go draws their transitions.
type Relay struct {
	Exchange
	Changes Changes      // changes to the request's head in every attempt
	GRPC    bool         // the request is a gRPC request: the gRPC status of its response counts
	Replay  ReplayBuffer // copy of the request so far, filled by the downstream side

	Matchers *route.Matchers // free ones of the loop, set once, before Forward
	head     RequestHead     // valid until Forward or ForwardPayload returns
	routing  route.Request   // what routes are matched against
	matcher  *route.Matcher  // nil unless the route needs more of the body
	own      *route.Response // of the proxy, to a request that is Refused; nil if it is rejected
	rejected Rejection       // why the request is Refused

	idempotent bool // the method of the request: see route.Idempotent

	down     Downstream
	up       Upstream // nil while there is no attempt
	limits   Timeouts
	request  requestState
	response responseState
	attempt  attemptState
	resent   bool // the request was already sent again without a retry policy

	paths httprule.PathReader
	path  httprule.Paths // readings of the request's path; valid until Forward returns
	size  headSize

	webSocket bool    // the request asks for a WebSocket
	tunnel    *Tunnel // nil unless the request is a WebSocket

	headOnly   bool               // the method is HEAD: the response has no body
	compresses *route.Compression // what is configured for the response; nil if it is never compressed
	coding     string             // the encoding that the client prefers; empty for none. Set if compresses is
	known      []byte             // values of If-None-Match, each followed by a comma. Set if compresses is
	body       *compressedBody    // nil unless the response is compressed
	replaced   bool               // the client has a page instead of the body, which is discarded
	discarded  int                // bytes of it

	continueAwaited bool // the client waits for 100 Continue, which the server has not sent

	grpc           traffic.Code  // Code of the response's gRPC status; 0 if it is not known, or there is none
	headAt         time.Duration // loop.Now at the response's head: the latency of the attempt ends there
	trailersDecide bool          // the trailers of a gRPC response decide about the attempt

	deadlines      deadlines
	movedAt        time.Duration // loop.Now when a byte of either body last moved
	unsentAtExpiry int           // unacknowledged bytes of both sides when stallDeadline last expired; 0 if bytes have moved since
	rate           bodyRate
	readBefore     int64 // bytes of the response that the client had acknowledged when readDeadline was set
}

// Timeouts are the listener's limits on the two bodies of a request.
type Timeouts struct {
	Body     time.Duration // longest time in which no byte of either body moves; zero or negative means no limit
	BodyRate int           // lowest rate of both bodies in bytes per second; zero or negative means no limit

	// RatePeriod is the time over which BodyRate of the request is averaged; that of the response is averaged over Body. BodyRate is not enforced before the first period ends.
	// Zero means 10 s.
	RatePeriod time.Duration
}

// Init prepares a Relay for the requests of d on loop l. Init is called once, before any other method.
func (r *Relay) Init(d Downstream, l *loop.Loop) {
	r.down = d
	r.deadlines.loop, r.deadlines.timer = l, l.NewTimer(r.expire)
	r.Replay.loop = l
	r.Replay.Reset()
}

// Begin begins a request. It is called at the request's first byte.
func (r *Relay) Begin(p *Plan, t Timeouts) {
	r.Exchange.Begin(p, r.deadlines.loop)
	r.limits = t
	r.limits.RatePeriod = cmp.Or(t.RatePeriod, defaultRatePeriod)
	r.request, r.response, r.attempt = requestOpen, responseAwaited, noAttempt
	if p.MaxDuration > 0 {
		r.deadlines.set(totalDeadline, p.MaxDuration)
	}
}

// Admit is Exchange.Admit for the client of the downstream side.
func (r *Relay) Admit(found *route.Route) traffic.Refusal {
	return r.Exchange.Admit(found, (*client)(r))
}

// client is the client of a Relay's request, as the rate limit of a listener sees it.
type client Relay

var _ limit.Client = (*client)(nil)

func (c *client) ClientAddr() string { return c.down.ClientAddr() }

func (c *client) ClientIdentity() string {
	if c.TLS == nil {
		return ""
	}
	return c.TLS.Identity
}

func (c *client) ClientField(name string) []byte { return c.down.RequestHead().Get(name) }

// Release ends the current request's use of the Relay. Begin may be called afterwards.
func (r *Relay) Release() {
	r.deadlines.stopAll()
	r.Replay.Reset()
	r.Changes, r.idempotent, r.resent, r.continueAwaited, r.unsentAtExpiry = Changes{}, false, false, false, 0
	r.GRPC, r.grpc, r.trailersDecide = false, 0, false
	r.path, r.size, r.webSocket, r.tunnel = httprule.Paths{}, headSize{}, false, nil
	r.paths.Release()
	r.releaseRouting()
	r.compresses, r.known, r.replaced, r.discarded = nil, nil, false, 0
	r.dropBody()
}

// dropBody releases the encoder of the response.
func (r *Relay) dropBody() {
	if r.body != nil {
		r.body.drop()
		r.body = nil
	}
}

// firstAttempt begins the first attempt of an admitted request.
func (r *Relay) firstAttempt() (up Upstream, o Outcome) {
	h := r.head
	if !r.addRouteChanges(h.Path()) {
		return r.refuse(BadPath)
	}
	r.continueAwaited = h.ExpectsContinue() && !r.Changes.NoExpect
	if r.Changes.Upgrade {
		r.webSocket = bytes.EqualFold(h.UpgradeTo(), webSocketName)
		r.startResponseTimeout() // the end of the head is the end of what is sent before the response
	}
	if r.GRPC {
		r.startCallTimeout(h)
	}
	r.headOnly, r.idempotent = string(r.routing.Method) == http.MethodHead, route.Idempotent(r.routing.Method)
	r.noteEncodings(h)
	if up, o = r.connect(false); o == Forwarded {
		r.Replay.Whole, r.Replay.Deferred = r.copies(up)
	}
	r.head = nil // it is valid only now
	return up, o
}

// copies reports whether the request is copied as it arrives, because it may have to be sent again, or whether the Upstream copies what it has not sent.
func (r *Relay) copies(up Upstream) (whole, deferred bool) {
	retry, resend := r.Route.Forward.Retry, ResendAll // that of a request that waits
	if up != nil {
		resend = up.MayResend(r.head, r.idempotent)
	}
	switch {
	case resend == ResendAll:
		return true, false
	case retry == nil:
		return false, false
	case resend == ResendUnsent && !r.idempotent && !retry.Idempotent: // the route retries it only if no byte of it was sent
		return false, true
	}
	return true, false
}

// startResponseTimeout starts the timeout of the response's head.
func (r *Relay) startResponseTimeout() {
	if r.Route.Forward.Timeout > 0 {
		r.deadlines.set(responseDeadline, r.Route.Forward.Timeout)
	}
}

var (
	rootPath      = []byte("/")
	webSocketName = []byte("websocket")
)

// connect begins an attempt. fresh asks for a connection that has served no other request. up is nil if the attempt waits for a connection.
func (r *Relay) connect(fresh bool) (up Upstream, o Outcome) {
	if why := r.Choose(); why != traffic.Forwarded {
		return r.refused(rejectionFor(why))
	}
	up, ready := r.Plan.Connectors[r.clusterIndex].Open(r, fresh)
	switch {
	case up == nil && r.size.refused:
		return r.refuse(HeadTooLarge)
	case up == nil:
		return r.refused(rejectionFor(r.Refuse(traffic.Overload)))
	}
	r.up, r.attempt = up, attemptOpen
	if !ready {
		r.attempt, up = attemptWaiting, nil
	}
	return up, Forwarded
}

// tryAgain begins another attempt, which sends the copy of the request.
func (r *Relay) tryAgain(fresh bool) {
	up, o := r.connect(fresh)
	switch {
	case o == Refused:
		r.reject(r.rejected)
		return
	case up != nil:
		r.down.SendRequest(up)
		r.resumeRetried()
	}
	r.startTryTimeout()
}

// resumeRetried resumes the request body after a retry. The previous attempt may have paused the body because its Upstream
// was full. It stays paused if the new Upstream is full too.
func (r *Relay) resumeRetried() {
	if r.request == requestOpen && r.Ready() && !r.up.RequestFull() {
		r.down.ResumeRequest()
	}
}

// Connected is called by an Upstream that had to wait for a connection and now has one.
func (r *Relay) Connected() {
	r.attempt = attemptOpen
	r.down.SendRequest(r.up)
	r.Opened()
	if r.request == requestOpen {
		r.rate.paused = true // it was paused until now
		r.Moved()
		r.down.ResumeRequest()
	}
	r.startTryTimeout()
}

// Replace gives an attempt that waits another Upstream, because the protocol of the server has become known only now. up and
// ready are the results of Connector.Open.
func (r *Relay) Replace(up Upstream, ready bool) {
	switch r.up = up; {
	case up == nil:
		r.attempt = noAttempt
		r.reject(rejectionFor(r.Refuse(traffic.Overload)))
	case ready:
		r.Connected()
	}
}

// Ready reports whether an Upstream accepts RequestData.
func (r *Relay) Ready() bool { return r.attempt == attemptOpen }

// Loop returns the loop that the request belongs to.
func (r *Relay) Loop() *loop.Loop { return r.deadlines.loop }

// Downstream returns the downstream side that was passed to Init.
func (r *Relay) Downstream() Downstream { return r.down }

// Detach hands the request over to a tunnel. The attempt counts as a success, and the Relay calls neither side
// afterwards. The caller must end the returned Exchange.
func (r *Relay) Detach() Exchange {
	r.EndAttempt(upstream.Success)
	r.up, r.attempt, r.response = nil, noAttempt, responseEnded
	r.deadlines.stopAll()
	return r.Exchange
}

// Opened is called by an Upstream whose connection is open now. It forgets the copy of the request if it is not needed any more.
func (r *Relay) Opened() {
	if r.Route.Forward.Retry == nil && r.up.MayResend(nil, r.idempotent) != ResendAll {
		r.Replay.Forget()
	}
}

// RequestData passes on bytes of the request body, as content or framed, whichever the Upstream asked for. last means
// that RequestEnd follows without trailers. pause means that the client is paused until ResumeRequest. Ready must be true.
func (r *Relay) RequestData(p []byte, last bool) (pause bool) {
	switch {
	case r.tunnel == nil:
		r.up.RequestData(p, last)
	case r.tunnel.Pass(p):
		r.up.RequestData(p, last)
		r.closeTunnel()
	}
	return r.requestMoved()
}

// requestMoved notes that bytes of the request body have moved. It reports whether the client is paused until ResumeRequest.
func (r *Relay) requestMoved() (pause bool) {
	r.Moved()
	if r.up.RequestFull() {
		r.rate.paused = true
		return true
	}
	return false
}

// RequestEnd is called when the request is complete. The response timeout starts.
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
	r.startResponseTimeout()
	r.startTryTimeout()
}

// RequestEnded reports whether the request is complete.
func (r *Relay) RequestEnded() bool { return r.request == requestEnded }

// startTryTimeout starts the timeout of one attempt once the request is complete.
func (r *Relay) startTryTimeout() {
	if retry := r.Route.Forward.Retry; retry != nil && retry.PerTryTimeout > 0 && r.request == requestEnded && r.up != nil {
		r.deadlines.set(tryDeadline, retry.PerTryTimeout)
	}
}

// UpstreamDrained is called when the server's queue has drained. It resumes the request.
func (r *Relay) UpstreamDrained() {
	if r.request == requestOpen {
		r.Moved()
		r.down.ResumeRequest()
	}
}

// DownstreamDrained is called when the client's queue has drained. It resumes the response.
func (r *Relay) DownstreamDrained() {
	if r.body != nil && !r.body.held.Empty() {
		r.body.compressor.wait(r.body)
		return
	}
	if r.up == nil {
		return
	}
	if r.response == responseStarted {
		r.Moved()
	}
	r.up.ResumeResponse()
}

// Interim passes on a 1xx response. pause means that the server is paused until ResumeResponse.
func (r *Relay) Interim(h ResponseHead) (pause bool) {
	if r.continueAwaited && h.Status() == 100 {
		r.continueAwaited, r.rate.paused = false, true // it was paused until now
	}
	r.down.Interim(h)
	return r.down.ResponseFull()
}

// Response passes on the response's head. ok is false if the route retries a request on that status: the Upstream was
// canceled and must not use the Relay any more. framed asks for a framed body. If ok is true, ResponseEnd or
// UpstreamFailed follows.
func (r *Relay) Response(h ResponseHead, end bool) (framed, ok bool) {
	outcome, final := r.judge(h, end)
	grpcStatus, _ := r.grpc.GRPCStatus()
	if r.Replay.Whole && r.Repeat(r.idempotent, h.Status(), grpcStatus) {
		r.EndAttempt(outcome)
		r.grpc = 0
		r.cancel()
		r.retry()
		return false, false
	}
	tunnel := r.Changes.Upgrade && r.request == requestOpen && h.Status()/100 == 2
	if final && (end || tunnel || outcome != upstream.Success) {
		r.EndAttempt(outcome)
	}
	r.headAt, r.trailersDecide = r.Loop().Now(), !final
	r.response = responseStarted
	if tunnel {
		if r.webSocket {
			r.tunnel = &Tunnel{}
		}
		r.deadlines.stop(totalDeadline) // a tunnel lasts as long as its bytes move
	}
	r.deadlines.stop(responseDeadline)
	r.deadlines.stop(tryDeadline)
	if !end {
		r.Moved()
	}
	if page := r.interceptedBy(h); page != nil {
		r.sendPage(h, page, end)
		return false, true
	}
	return r.down.Response(r.transform(h, end), end), true
}

// ResponseData passes on bytes of the response body. last means that ResponseEnd follows without trailers. pause means that
// the server is paused until ResumeResponse.
func (r *Relay) ResponseData(p []byte, last bool) (pause bool) {
	if r.body != nil {
		return r.body.data(p, last)
	}
	if r.replaced {
		return r.discard(len(p))
	}
	r.down.ResponseData(p, last)
	return r.responseMoved()
}

// responseMoved notes that bytes of the response body have moved. It reports whether the server is paused until ResumeResponse.
func (r *Relay) responseMoved() (pause bool) {
	r.Moved()
	if r.down.ResponseFull() {
		r.watchReader()
		return true
	}
	return false
}

// ResponseEnd ends the response. The Upstream has already released its connection and must not use the Relay
// afterwards.
func (r *Relay) ResponseEnd(trailers Fields) {
	r.up, r.attempt = nil, noAttempt
	if r.trailersDecide {
		r.endGRPC(trailers)
	} else {
		r.endAttemptAt(r.headAt, upstream.Success)
	}
	if r.body == nil || r.body.end(trailers) {
		r.endResponse(trailers)
	}
}

// endResponse ends the response that the client gets.
func (r *Relay) endResponse(trailers Fields) {
	r.response = responseEnded
	r.deadlines.stop(tryDeadline)
	r.dropBody()
	r.down.ResponseEnd(trailers)
}

// UpstreamFailed is called when there is no complete response. The Upstream must not use the Relay afterwards.
func (r *Relay) UpstreamFailed(f Failure) {
	r.up, r.attempt = nil, noAttempt
	if f.Err != nil && f.Cause == route.OnConnectFailure {
		r.NotConnected(f.Err)
	}
	r.reason = r.reasonOf(f.Cause)
	switch {
	case f.Canceled && r.deadlines.within(callDeadline, callSlack):
		r.EndAttempt(upstream.Canceled)
		r.endLateCall()
	case r.response != responseAwaited:
		r.reason = traffic.ReasonResetWithin
		r.endAttemptAt(r.headAt, f.outcome())
		if f.Canceled && r.GRPC {
			r.SetGRPCStatus(grpcCanceled)
		}
		r.cutShort()
	case r.resends(f):
		r.resent = true
		if f.Stale {
			r.EndAttempt(upstream.Canceled)
		} else {
			r.EndAttempt(f.outcome())
		}
		r.tryAgain(f.Sent)
	default:
		r.EndAttempt(f.outcome())
		if r.Replay.Whole && r.Failed(r.idempotent, f.Cause, f.Sent) {
			r.retry()
			return
		}
		r.Lost(f.Cause)
		r.reject(rejectionForFailure(f))
	}
}

// cutShort ends a response whose rest will not arrive. A client that has a page needs none.
func (r *Relay) cutShort() {
	if r.replaced {
		r.endResponse(nil)
		return
	}
	r.reset()
}

// callSlack is how much earlier than the relay a server may find that the deadline of a gRPC call has passed. Both count from the arrival
// of the same grpc-timeout. A server that cancels the call then does so because of the deadline.
const callSlack = 10 * time.Millisecond

// resends reports whether a failed request is sent again without a retry policy, which happens once. A server that closed
// a reused connection has probably not seen the request (RFC 9112, section 9.3.1). A server that refused a stream has
// not processed the request (RFC 9113, section 8.7). It may refuse streams because it is overloaded, so the budget bounds that.
func (r *Relay) resends(f Failure) bool {
	switch {
	case r.resent || !r.Replay.Whole:
		return false
	case f.Stale:
		return !f.Sent || r.idempotent
	}
	return f.Cause == route.OnRefusedStream && r.budget().Retry(r.Loop().Now())
}

// ResponseMalformed is called when the server sent bytes that are not a valid response to this request. The Upstream
// must not use the Relay afterwards.
func (r *Relay) ResponseMalformed() {
	r.up, r.attempt = nil, noAttempt
	r.reason = traffic.ReasonMalformed
	r.EndAttempt(upstream.Failure)
	if r.response != responseAwaited {
		r.cutShort()
		return
	}
	r.reject(BadGateway)
}

// Abandon cancels the current attempt, because the client has left or gets a response of the proxy's own.
func (r *Relay) Abandon() { r.cancel() }

// Finish counts the request, logs the request if the access log samples it, and ends the request. status is the status of the response, 0 if the
// client got none.
func (r *Relay) Finish(status int) {
	code := traffic.Code(0)
	switch {
	case status == 0:
	case r.grpc != 0:
		code = r.grpc
	default:
		code = traffic.HTTP(status)
	}
	r.response = responseEnded
	if r.Logs(code) {
		e := NewEntry(r.down.RequestHead(), r.down.ClientAddr(), status)
		r.Log(&e, code)
	}
	r.End(code)
}

// NewEntry returns an access log entry with the fields of head h. The entry's byte slices are views of h.
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

// cancel abandons the current attempt. A server that has begun a response did what it should.
func (r *Relay) cancel() {
	if r.response == responseStarted && !r.trailersDecide {
		r.endAttemptAt(r.headAt, upstream.Success)
	}
	if up := r.up; up != nil {
		r.up, r.attempt = nil, noAttempt
		up.Cancel()
	}
}

// retry begins another attempt.
func (r *Relay) retry() {
	r.deadlines.stop(tryDeadline)
	r.tryAgain(false)
}

// reject makes the downstream side send a response of the proxy's own. It stops all deadlines.
func (r *Relay) reject(why Rejection) {
	r.deadlines.stopAll()
	r.response = responseEnded
	if r.GRPC {
		status, _ := why.GRPCStatus()
		r.SetGRPCStatus(status)
	}
	r.down.Reject(why)
}

// reset makes the downstream side end a response that has started. A gRPC client whose stream is reset sees INTERNAL.
func (r *Relay) reset() {
	r.response = responseEnded
	if r.GRPC && r.grpc == 0 {
		r.SetGRPCStatus(grpcInternal)
	}
	r.down.Reset()
}
