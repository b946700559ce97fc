package exchange

import (
	"errors"
	"math/rand/v2"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// Exchange is the state of one request: its route, its attempts and its counters. It belongs to one loop. After End, Begin may
// follow.
type Exchange struct {
	Plan     *Plan
	Route    *route.Route // nil until it is admitted
	Cluster  *upstream.Cluster
	Endpoint *upstream.Endpoint // of the attempt under way; nil between attempts
	Began    time.Duration      // loop.Now at Begin
	Attempt  int                // 1 for the first
	In, Out  int64              // bytes of request and response, heads included: the driver counts them

	loop    *loop.Loop
	cluster int                // which of Plan.Clusters
	failed  *upstream.Endpoint // of the last attempt
	chosen  time.Duration      // loop.Now at Choose
	refusal traffic.Refusal
}

// Begin begins a request, which uses p until its end.
func (x *Exchange) Begin(p *Plan, l *loop.Loop) {
	*x = Exchange{Plan: p, loop: l, Began: l.Now()}
}

// Admit applies the route of a request, nil if none matches: it checks the rate limit and picks the cluster. If the result is not
// traffic.Forwarded, or the route does not forward, the driver responds itself.
func (x *Exchange) Admit(r *route.Route) traffic.Refusal {
	x.Route = r
	switch {
	case r == nil:
		return x.Refuse(traffic.NoRoute)
	case !r.Bucket.Allow(x.loop.Now()):
		return x.Refuse(traffic.RateLimited)
	case r.Forwards():
		x.cluster = r.Pick(rand.Uint64())
		x.Cluster = x.Plan.Clusters[x.cluster]
		if r.Budget != nil {
			r.Budget.Request(x.loop.Now())
		}
	}
	return traffic.Forwarded
}

// Refuse counts a request that the proxy does not forward, and returns why.
func (x *Exchange) Refuse(why traffic.Refusal) traffic.Refusal {
	x.refusal = why
	x.Plan.Listener.Refused(x.loop.Index(), why)
	return why
}

// Choose picks the endpoint of an attempt. EndAttempt, Failed, Lost or End follows.
func (x *Exchange) Choose() traffic.Refusal {
	x.chosen = x.loop.Now()
	e, err := x.Cluster.Pick(rand.Uint64(), x.chosen, x.failed)
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

// EndAttempt ends the current attempt, if there is one, with an outcome.
func (x *Exchange) EndAttempt(o upstream.Outcome) {
	if x.Endpoint != nil {
		now := x.loop.Now()
		x.Endpoint.Done(o, now-x.chosen, now)
		x.failed, x.Endpoint = x.Endpoint, nil
	}
}

// Failed ends the current attempt without a response, and reports whether the route allows another one: then Choose follows.
// method is the request's, nil in Bolt. sent says that the server may have received a part of the request. If the request cannot
// be sent again, call Lost instead.
func (x *Exchange) Failed(method []byte, why route.Cause, sent bool) bool {
	x.Lost(why)
	return x.again(method, route.Attempt{Number: x.Attempt, Cause: why, Sent: sent})
}

// Lost ends the current attempt without a response. No other one follows.
func (x *Exchange) Lost(why route.Cause) { x.EndAttempt(outcomes[why]) }

// NotConnected ends the current attempt, whose connection failed with err. A cause on this machine does not count against the
// endpoint. Failed or Lost follows and decides about another attempt.
func (x *Exchange) NotConnected(err error) { x.EndAttempt(upstream.ConnectOutcome(err)) }

// Repeat ends the current attempt with the status of its response, and reports whether the route repeats the request: then the
// driver discards the response, and Choose follows. It is for HTTP only.
func (x *Exchange) Repeat(method []byte, status int) bool {
	o := upstream.Success
	if status >= 500 {
		o = upstream.Failure
	}
	x.EndAttempt(o)
	return x.again(method, route.Attempt{Number: x.Attempt, Status: status, Sent: true})
}

func (x *Exchange) again(method []byte, a route.Attempt) bool {
	if x.Route.Forward.Retry == nil || !x.Route.Retries(method, a, x.loop.Now()) {
		return false
	}
	x.Plan.Routes[x.Route.Index].Retried(x.loop.Index())
	return true
}

var outcomes = map[route.Cause]upstream.Outcome{
	route.OnConnectFailure: upstream.ConnectFailure,
	route.OnReset:          upstream.Reset,
	route.OnTimeout:        upstream.Timeout,
}

// End ends the request and counts it with code c. If an attempt is under way, the client has left.
func (x *Exchange) End(c traffic.Code) {
	x.EndAttempt(upstream.Canceled)
	if x.Route != nil {
		x.Plan.Routes[x.Route.Index].Done(x.loop.Index(), c, x.loop.Now()-x.Began, x.In, x.Out)
	}
	x.Plan = nil
}

// Logs reports whether the access log samples the request. Then Log follows, before End.
func (x *Exchange) Logs(c traffic.Code) bool {
	return x.Plan.Log != nil && x.Plan.Log.Sampled(rand.Uint64(), c)
}

// Log writes e to the access log, after it filled in the fields of the exchange.
func (x *Exchange) Log(e *traffic.Entry, c traffic.Code) {
	e.Listener, e.Code, e.Refusal, e.Attempts, e.In, e.Out = x.Plan.Listener.Name, c, x.refusal, x.Attempt, x.In, x.Out
	e.Took = x.loop.Now() - x.Began
	if x.Route != nil {
		e.Route = x.Route.Name
	}
	if x.Cluster != nil {
		e.Cluster = x.Cluster.Config().Name
	}
	last := x.Endpoint
	if last == nil {
		last = x.failed
	}
	if last != nil {
		e.Endpoint = last.Addr().String()
	}
	x.Plan.Log.Write(e)
}
