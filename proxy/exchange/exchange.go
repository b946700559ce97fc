package exchange

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/limit"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// Exchange is the state of one request: its route, its attempts and its counters. It belongs to one loop. After End,
// Begin may be called for another request.
type Exchange struct {
	Plan     *Plan
	TLS      *TLSInfo     // handshake of the client's connection; nil if it is cleartext. The driver sets it after Begin
	Route    *route.Route // nil before Admit, and if no route matches
	Cluster  *upstream.Cluster
	Endpoint *upstream.Endpoint // endpoint of the current attempt; nil between attempts
	Began    time.Duration      // loop.Now at Begin
	AsIs     bool               // the path is forwarded as the client has sent it; set by Admit
	Attempt  int                // number of attempts so far; 1 during the first
	In, Out  int64              // bytes of the request and of the response, heads included; the caller counts them

	loop         *loop.Loop
	clusterIndex int                // index into Plan.Clusters
	lastEndpoint *upstream.Endpoint // endpoint of the previous attempt
	chosenAt     time.Duration      // loop.Now at Choose
	refusal      traffic.Refusal
	reason       traffic.Reason // why the last attempt, or the request, has failed
	client       limit.Client   // nil before Admit
	key          balance.Caller // of the header field that names the client; 0 if there is none
	connectErr   error          // why the connection of the attempt could not be opened
	responded    string         // the failure that the response of the attempt reports
	resent       bool           // the request was sent again without a retry policy
	retryAfter   time.Duration  // time until the limit that refused the request accepts one again; 0 if that is unknown
}

// Begin begins a request. The request uses p until End.
func (x *Exchange) Begin(p *Plan, l *loop.Loop) {
	*x = Exchange{Plan: p, loop: l, Began: l.Now()}
}

// Admit applies route r to a request of client c: it checks the connection, for overload and the rate limits, and picks the cluster. r is
// nil if no route matches; c may be nil if Plan.Rate is. If the result is not traffic.Forwarded, or the route does not forward, the
// caller responds itself.
func (x *Exchange) Admit(r *route.Route, c limit.Client) traffic.Refusal {
	x.Route, x.client = r, c
	if !x.Plan.Terms.Accept(x.TLS) {
		return x.Refuse(traffic.BadRequest)
	}
	if x.Plan.Overload.RefusesRequest() {
		return x.refuseUntil(traffic.Shed, x.Plan.Overload.RetryAfter())
	}
	if x.Plan.Rate != nil {
		x.key = balance.Caller(x.Plan.Rate.HeaderKey(c))
		if wait, ok := x.Plan.Rate.Allow(c, x.loop.Now()); !ok {
			return x.refuseUntil(traffic.ClientRateLimited, wait)
		}
	}
	switch {
	case r == nil:
		return x.Refuse(traffic.NoRoute)
	case !r.Bucket.Allow(x.loop.Now()):
		return x.refuseUntil(traffic.RateLimited, time.Duration(float64(time.Second)/r.RateLimit.RequestsPerSecond))
	case r.Forwards():
		x.AsIs = x.Plan.AsIs || r.Path == route.AsIs
		x.clusterIndex = r.Pick(rand.Uint64())
		x.Cluster = x.Plan.Clusters[x.clusterIndex]
		x.budget().Request(x.loop.Now())
	}
	return traffic.Forwarded
}

// Refuse counts a request that the proxy does not forward, and returns why.
func (x *Exchange) Refuse(why traffic.Refusal) traffic.Refusal {
	x.refusal, x.reason = why, why.Reason()
	x.Plan.Listener.Refused(x.loop.Index(), why)
	return why
}

// Choose picks an endpoint for an attempt. EndAttempt, Failed, Lost or End follows.
func (x *Exchange) Choose() traffic.Refusal {
	x.chosenAt, x.reason, x.connectErr, x.responded = x.loop.Now(), traffic.NoReason, nil, ""
	e, err := x.Cluster.Pick(rand.Uint64(), x.chosenAt, x.lastEndpoint)
	switch {
	case err == nil:
		x.Endpoint = e
		x.Attempt++
		return traffic.Forwarded
	case errors.Is(err, upstream.ErrOverload):
		return x.Refuse(traffic.Overload)
	}
	return x.Refuse(traffic.NoEndpoint)
}

// EndAttempt ends the current attempt with outcome o. It does nothing if there is no attempt.
func (x *Exchange) EndAttempt(o upstream.Outcome) { x.endAttemptAt(x.loop.Now(), o) }

// endAttemptAt ends the current attempt. The latency of the attempt is measured until respondedAt.
func (x *Exchange) endAttemptAt(respondedAt time.Duration, o upstream.Outcome) {
	e := x.Endpoint
	if e == nil {
		return
	}
	if took := respondedAt - x.chosenAt; o.Fault() {
		e.Failed(x.Client(), o, took, x.loop.Now(), x.attemptError)
	} else {
		e.Done(o, took, x.loop.Now())
	}
	x.lastEndpoint, x.Endpoint = e, nil
}

// attemptError describes why the endpoint has failed the current attempt.
func (x *Exchange) attemptError() error {
	switch {
	case x.connectErr != nil:
		return x.connectErr
	case x.reason != traffic.NoReason:
		return errors.New(strings.ReplaceAll(x.reason.String(), "_", " "))
	}
	return errors.New("its response is " + x.responded)
}

// Responded notes the failure that a response reports, before EndAttempt.
func (x *Exchange) Responded(failure string) { x.responded = failure }

// Client tells the client of the request from others: by the header field that limits.key names, or else by address.
func (x *Exchange) Client() balance.Caller {
	if x.key != 0 || x.client == nil {
		return x.key
	}
	addr, _ := netip.ParseAddr(x.client.ClientAddr()) // clients of a Unix domain socket count as one
	return balance.CallerAt(addr)
}

// Failed ends the current attempt without a response. It reports whether the route allows another attempt; the caller
// then calls Choose. idempotent is that of the request's method; Bolt has none. sent means that the server may have processed a part
// of the request. For a request that cannot be sent again, call Lost instead.
func (x *Exchange) Failed(idempotent bool, why route.Cause, sent bool) bool {
	x.Lost(why)
	return x.retryAllowed(idempotent, route.Attempt{Number: x.Attempt, Cause: why, Sent: sent})
}

// Lost ends the current attempt without a response. No other attempt follows.
func (x *Exchange) Lost(why route.Cause) {
	x.reason = x.reasonOf(why)
	x.EndAttempt(outcomeByCause[why])
}

// reasonOf returns the Reason of an attempt that has failed before its response.
func (x *Exchange) reasonOf(why route.Cause) traffic.Reason {
	switch err := x.connectErr; {
	case why == route.OnTimeout:
		return traffic.ReasonTimeout
	case why == route.OnReset:
		return traffic.ReasonReset
	case why == route.OnRefusedStream:
		return traffic.ReasonRefusedStream
	case err == nil, errors.Is(err, syscall.ECONNREFUSED):
		return traffic.ReasonRefused
	case errors.Is(err, os.ErrDeadlineExceeded):
		return traffic.ReasonConnectTime
	case balance.OfConnect(err) == balance.LocalFailure:
		return traffic.ReasonLocal
	case errors.As(err, new(syscall.Errno)):
		return traffic.ReasonUnreachable
	}
	return traffic.ReasonTLS
}

// SendsAgain reports whether a request of which no byte was sent is sent to another endpoint although the route has no retry policy, which
// happens once: the endpoint refused the connection or is unreachable, or its connection ended. why is the cause of the last failure.
func (x *Exchange) SendsAgain(why route.Cause) bool {
	if x.resent || x.Route == nil || x.Route.Forward.Retry != nil || x.Cluster.Available() < 2 {
		return false
	}
	if why != route.OnReset && (why != route.OnConnectFailure || !balance.NeverConnected(x.connectErr)) {
		return false
	}
	x.resent = true
	x.Plan.Routes[x.Route.Index].Retried(x.loop.Index())
	return true
}

// NotConnected ends the current attempt because its connection failed with err. An error caused by this machine does
// not count against the endpoint. The caller then calls Failed or Lost, which decides about another attempt.
func (x *Exchange) NotConnected(err error) {
	x.connectErr = err
	x.reason = x.reasonOf(route.OnConnectFailure)
	x.EndAttempt(balance.OfConnect(err))
}

// Repeat reports whether the route retries a request because of the status of its response. If so, the caller discards
// the response, calls EndAttempt and then Choose. grpcStatus is 0 if the head has none. Repeat is for HTTP only.
func (x *Exchange) Repeat(idempotent bool, status, grpcStatus int) bool {
	return x.retryAllowed(idempotent, route.Attempt{Number: x.Attempt, Status: status, GRPCStatus: grpcStatus, Sent: true})
}

// budget returns what bounds the attempts beyond the first of a request: the budget of the route's retry policy, or else that of the cluster; nil if the cluster
// has none.
func (x *Exchange) budget() *balance.Budget {
	if x.Route.Budget != nil {
		return x.Route.Budget
	}
	return x.Cluster.Budget(x.loop.Index())
}

func (x *Exchange) retryAllowed(idempotent bool, a route.Attempt) bool {
	if a.Cause != "" && !a.Sent && x.SendsAgain(a.Cause) {
		return true
	}
	if x.Route.Forward.Retry == nil || !x.Route.Retries(idempotent, a, x.loop.Now()) {
		return false
	}
	x.Plan.Routes[x.Route.Index].Retried(x.loop.Index())
	return true
}

var outcomeByCause = map[route.Cause]upstream.Outcome{
	route.OnConnectFailure: upstream.ConnectFailure,
	route.OnReset:          upstream.Reset,
	route.OnRefusedStream:  upstream.Reset,
	route.OnTimeout:        upstream.Timeout,
}

// End ends the request and counts it with code c. An attempt that is still in progress counts as canceled, because
// the client has left.
func (x *Exchange) End(c traffic.Code) {
	x.EndAttempt(upstream.Canceled)
	if x.Route != nil {
		x.Plan.Routes[x.Route.Index].Done(x.loop.Index(), c, x.loop.Now()-x.Began, x.In, x.Out)
	}
	x.Plan = nil
}

// Logs reports whether the access log samples the request. If so, the caller calls Log before End.
func (x *Exchange) Logs(c traffic.Code) bool {
	return x.Plan.Log != nil && x.Plan.Log.Sampled(rand.Uint64(), c)
}

// Log fills in the fields of e that the exchange knows, and writes e to the access log.
func (x *Exchange) Log(e *traffic.Entry, c traffic.Code) {
	e.Reason = x.reason
	if e.Reason == traffic.NoReason && c == 0 {
		e.Reason = traffic.ReasonClientLeft
	}
	e.Listener, e.Code, e.Refusal, e.Attempts, e.In, e.Out = x.Plan.Listener.Name, c, x.refusal, x.Attempt, x.In, x.Out
	e.Took = x.loop.Now() - x.Began
	if x.TLS != nil {
		e.TLS, e.ServerName, e.ClientIdentity = x.TLS.VersionName(), x.TLS.ServerName, x.TLS.Identity
	}
	if x.Route != nil {
		e.Route = x.Route.Name
	}
	if x.Cluster != nil {
		e.Cluster = x.Cluster.Config().Name
	}
	last := x.Endpoint
	if last == nil {
		last = x.lastEndpoint
	}
	if last != nil {
		e.Endpoint = last.Addr().String()
	}
	x.Plan.Log.Write(e)
}
