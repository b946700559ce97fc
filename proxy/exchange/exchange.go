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

// Exchange is one request and what has become of it so far. It belongs to one loop. After End it can begin again.
type Exchange struct {
	Plan     *Plan
	Route    *route.Route // nil until it is admitted
	Cluster  *upstream.Cluster
	Endpoint *upstream.Endpoint // of the attempt under way; nil between attempts
	Began    time.Duration      // loop.Now at Begin
	Attempt  int                // 1 for the first
	In, Out  int64              // bytes of request and answer, heads included: the driver counts them

	loop    *loop.Loop
	cluster int                // which of Plan.Clusters
	failed  *upstream.Endpoint // of the last attempt
	chosen  time.Duration      // loop.Now at Choose
	why     traffic.Refusal
}

// Begin begins a request under p.
func (x *Exchange) Begin(p *Plan, l *loop.Loop) {
	*x = Exchange{Plan: p, loop: l, Began: l.Now()}
}

// Admit takes the route that was found for the request, nil if none was, and chooses the cluster. Anything but
// traffic.Forwarded is to be answered so by the proxy itself, as is a route that does not forward.
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

// Refuse notes why the proxy answers the request itself, and returns it.
func (x *Exchange) Refuse(why traffic.Refusal) traffic.Refusal {
	x.why = why
	x.Plan.Listener.Refused(x.loop.Index(), why)
	return why
}

// Choose chooses the endpoint for an attempt. Answered, Failed or End follows.
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

// Answered ends the attempt under way: the answer's head is here.
func (x *Exchange) Answered(o upstream.Outcome) {
	if x.Endpoint != nil {
		now := x.loop.Now()
		x.Endpoint.Done(o, now-x.chosen, now)
		x.failed, x.Endpoint = x.Endpoint, nil
	}
}

// Failed ends the attempt under way without an answer, and reports whether Choose is to follow for another one. method is the
// request's, nil in Bolt; sent says that the server may have seen some of it. Ask only if the request can be sent again as a
// whole, else call Lost.
func (x *Exchange) Failed(method []byte, why route.Cause, sent bool) bool {
	x.Lost(why)
	return x.again(method, route.Attempt{Number: x.Attempt, Cause: why, Sent: sent})
}

// Lost ends the attempt under way without an answer, as Failed does, when there is not to be another one.
func (x *Exchange) Lost(why route.Cause) { x.Answered(outcomes[why]) }

// NotConnected ends the attempt under way, whose connection was not made because of err. A cause on this machine does not count
// against the endpoint. Failed or Lost follows, to decide about another attempt.
func (x *Exchange) NotConnected(err error) { x.Answered(upstream.ConnectOutcome(err)) }

// Repeat reports whether an answer with that status is to be thrown away, and Choose to follow for another attempt. The attempt
// is ended in any case, as by Answered. It is for HTTP only.
func (x *Exchange) Repeat(method []byte, status int) bool {
	o := upstream.Success
	if status >= 500 {
		o = upstream.Failure
	}
	x.Answered(o)
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

// End ends the request, and its attempt if one is under way: the client is gone then. c is how it was answered.
func (x *Exchange) End(c traffic.Code) {
	x.Answered(upstream.Canceled)
	if x.Route != nil {
		x.Plan.Routes[x.Route.Index].Done(x.loop.Index(), c, x.loop.Now()-x.Began, x.In, x.Out)
	}
	x.Plan = nil
}

// Logs reports whether the request is to be logged, as Log then does, before End.
func (x *Exchange) Logs(c traffic.Code) bool {
	return x.Plan.Log != nil && x.Plan.Log.Sampled(rand.Uint64(), c)
}

// Log writes e to the access log, with all that x knows filled in.
func (x *Exchange) Log(e *traffic.Entry, c traffic.Code) {
	e.Listener, e.Code, e.Refusal, e.Attempts, e.In, e.Out = x.Plan.Listener.Name, c, x.why, x.Attempt, x.In, x.Out
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
