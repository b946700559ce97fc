package rpc

import (
	"context"
	"slices"
	"sync"
	"time"

	"example.com/ferry/codec"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// Call calls a unary method and returns its response. The error is a *call.Status. method is the full name, such as
// greeter.Greeter.Hello.
//
// A deadline of ctx, and its end, reach the server. The metadata of WithMetadata, and the trace context of the handler that ctx
// belongs to, go with the call. A failed call is tried again as ClientConfig.Retry says.
func Call[Out, In any](ctx context.Context, c *Client, method string, in *In, opts ...CallOption) (*Out, error) {
	out := new(Out)
	if err := c.unary(ctx, method, in, out, opts); err != nil {
		return nil, err
	}
	return out, nil
}

// unaryCall is a unary call at a client. Its attempts keep nothing of it, so it is reused.
type unaryCall struct {
	client   *Client
	method   *clientMethod
	options  callOptions
	content  *envelope.Content
	in, out  any
	start    time.Duration // on the client's clock
	body     *bufpool.Buf  // the encoded request
	deadline time.Time
	ownLimit bool // the deadline is that of ClientConfig.Timeout
	metadata call.Metadata
	info     *Info // nil without interceptors and observer
	traffic  traffic
	attempts int
	first    attempt // the first one, so that it needs no allocation
}

var unaryCalls = sync.Pool{New: func() any { return new(unaryCall) }}

// unary makes a call from its start to its end.
func (c *Client) unary(ctx context.Context, method string, in, out any, opts []CallOption) error {
	u := unaryCalls.Get().(*unaryCall)
	*u = unaryCall{client: c, method: c.methods.get(c.cfg, method), in: in, out: out, start: c.now()}
	u.method.stats.inFlight.Add(1)
	err := u.intercepted(ctx, opts)
	status := call.StatusOf(err)
	took := c.now() - u.start
	u.method.stats.ended(status, took, &u.traffic)
	if u.info != nil {
		u.info.ended(u.traffic.end(status, took, u.attempts), c.cfg.Log)
	}
	if u.body != nil {
		u.body.Release()
	}
	if u.info == nil { // otherwise an interceptor may have kept the call
		*u = unaryCall{}
		unaryCalls.Put(u)
	}
	if status == nil {
		return nil
	}
	return status
}

// intercepted runs the observer and the interceptors around the call.
func (u *unaryCall) intercepted(ctx context.Context, opts []CallOption) error {
	content, status := u.client.apply(&u.options, opts)
	if status != nil {
		return status
	}
	u.content = content
	if !u.client.watched() {
		return u.do(ctx)
	}
	ctx, u.info = u.client.begin(ctx, u.method.name, u.content, false, false)
	return intercept(ctx, u.client.cfg.Interceptors, u.info, u.do)
}

// watched reports whether calls need an Info.
func (c *Client) watched() bool { return c.cfg.Observer != nil || len(c.cfg.Interceptors) > 0 }

// begin makes the Info of a call and tells the observer.
func (c *Client) begin(ctx context.Context, method string, content *envelope.Content, clientStreams, serverStreams bool) (context.Context, *Info) {
	info := &Info{Method: method, Content: content.Type, ClientStreams: clientStreams, ServerStreams: serverStreams, Client: true}
	if o := c.cfg.Observer; o != nil {
		ctx = o.CallStarted(ctx, info)
		info.OnEnd(func(e End) { o.CallEnded(ctx, info, e) })
	}
	return ctx, info
}

// do encodes the request, makes the attempts and decodes the response.
func (u *unaryCall) do(ctx context.Context) error {
	c := u.client
	if err := u.info.message(true, u.in); err != nil {
		return err
	}
	u.body = bufpool.Get(int(u.method.encoded.Load()))
	var err error
	if u.body.B, err = codec.Append(u.content.Codec, u.body.B, u.in); err != nil {
		return statusf(call.InvalidArgument, "the request cannot be encoded: %v", err)
	}
	u.method.encoded.Store(int64(len(u.body.B)))
	if err := checkSize("request", len(u.body.B), c.cfg.MaxMessage); err != nil {
		return err
	}
	metadata, status := outgoing(ctx)
	if status != nil {
		return status
	}
	u.metadata = metadata
	u.deadline, u.ownLimit = c.deadline(ctx, &u.options)
	return u.tryAll(ctx)
}

// Calls that no server has begun are tried again without budget, whatever the method: at once on another connection, as often as
// maxRefused. If a node has no server for a call, or a server has refused this call alone, it is tried after a pause of refusedPause, which
// doubles each time, maxUnserved times: that covers the start of a server in the place of another, and a short overload.
const (
	maxRefused   = 16
	maxUnserved  = 7
	refusedPause = 10 * time.Millisecond
)

// tryAll makes attempts until one succeeds, or another one is not allowed.
func (u *unaryCall) tryAll(ctx context.Context) error {
	c := u.client
	idempotent := u.options.idempotent || u.method.idempotent
	c.retries.Request(u.start)
	u.first.of(u)
	a := &u.first
	for refused := 0; ; {
		a = u.try(ctx, a, idempotent)
		if a.status == nil {
			return u.take(a)
		}
		if u.options.trailer != nil {
			*u.options.trailer = a.resp.Trailer
		}
		status, unsent, avoid, later := a.status, a.resp.Unsent && a.status.Code == call.Unavailable, a.endpoint.Load(), a.relayed || a.resp.Busy
		a.release()
		switch {
		case ctx.Err() != nil:
			return status
		case unsent && later && refused < maxUnserved:
			if pause(ctx, u.deadline, jitter(refusedPause<<refused)) != nil {
				return status
			}
			refused++
		case unsent && !later && refused < maxRefused:
			refused++ // no pause and no budget: the connection is given up, so this cannot go on
		case u.attempts-refused >= c.cfg.Retry.Attempts, !idempotent, !slices.Contains(c.cfg.Retry.Codes, status.Code), !c.retries.Retry(c.now()):
			return status
		case pause(ctx, u.deadline, jitter(c.cfg.Retry.Backoff<<min(u.attempts-1, 10))) != nil:
			return status
		}
		a = new(attempt)
		a.of(u)
		a.avoid = avoid
	}
}

// pause waits for d, or returns an error if ctx or the deadline ends before that.
func pause(ctx context.Context, deadline time.Time, d time.Duration) error {
	if !deadline.IsZero() && time.Until(deadline) <= d {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// try makes one attempt, or two if the call is hedged. It returns the one that counts.
func (u *unaryCall) try(ctx context.Context, a *attempt, idempotent bool) *attempt {
	u.attempts++
	c := u.client
	if !idempotent || c.cfg.Hedge == nil {
		a.run(ctx)
		return a
	}
	c.hedges.Request(c.now())
	delay := c.cfg.Hedge.Delay
	if delay == 0 {
		delay = u.method.recent.quantile()
	}
	if delay == 0 {
		a.run(ctx)
	} else {
		first := a
		a = u.hedged(ctx, first, delay)
		if a != first {
			u.method.recent.add(first.took, c.now(), c.cfg.Hedge.Quantile)
			return a
		}
	}
	if a.status == nil {
		u.method.recent.add(a.took, c.now(), c.cfg.Hedge.Quantile)
	}
	return a
}

// take decodes the response of a.
func (u *unaryCall) take(a *attempt) error {
	defer a.release()
	if u.options.header != nil {
		*u.options.header = a.resp.Header
	}
	if u.options.trailer != nil {
		*u.options.trailer = a.resp.Trailer
	}
	if err := u.content.Codec.Unmarshal(a.result, u.out); err != nil {
		return statusf(call.Internal, "the response cannot be decoded: %v", err)
	}
	return u.info.message(false, u.out)
}
