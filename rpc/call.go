package rpc

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/codec"
	"example.com/ferry/internal/balance"
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

// A CallOption configures one call.
type CallOption func(*callOptions)

type callOptions struct {
	contentType     string
	compression     string
	timeout         time.Duration
	wait            bool
	idempotent      bool
	header, trailer *call.Metadata
}

// WithContent encodes the messages of the call as that content type of ClientConfig.Contents.
func WithContent(contentType string) CallOption {
	return func(o *callOptions) { o.contentType = contentType }
}

// Compress compresses the messages of the call: gzip or zstd, or "" for no compression.
func Compress(name string) CallOption { return func(o *callOptions) { o.compression = name } }

// Timeout ends the call with DeadlineExceeded after d, or at the deadline of its context, if that comes first.
func Timeout(d time.Duration) CallOption { return func(o *callOptions) { o.timeout = d } }

// WaitForReady makes the call wait for a connection instead of failing with Unavailable.
func WaitForReady() CallOption { return func(o *callOptions) { o.wait = true } }

// Idempotent says that the call may run twice, so it may be retried and hedged.
func Idempotent() CallOption { return func(o *callOptions) { o.idempotent = true } }

// ReceiveHeader sets *m to the header of the response, once the call has succeeded.
func ReceiveHeader(m *call.Metadata) CallOption { return func(o *callOptions) { o.header = m } }

// ReceiveTrailer sets *m to the trailer of the response, once the call has ended.
func ReceiveTrailer(m *call.Metadata) CallOption { return func(o *callOptions) { o.trailer = m } }

// unaryCall is a unary call at a client. Its attempts keep nothing of it, so it is reused.
type unaryCall struct {
	client   *Client
	method   *clientMethod
	options  callOptions
	content  *envelope.Content
	in, out  any
	body     *bufpool.Buf // the encoded request
	deadline time.Time
	metadata call.Metadata
	info     *Info // nil without interceptors and observer
	traffic  traffic
	attempts int
	first    attempt // the first one, so that it needs no allocation
}

var unaryCalls = sync.Pool{New: func() any { return new(unaryCall) }}

// unary makes a call from its start to its end.
func (c *Client) unary(ctx context.Context, method string, in, out any, opts []CallOption) error {
	start := c.now()
	u := unaryCalls.Get().(*unaryCall)
	*u = unaryCall{client: c, method: c.methods.get(c.cfg, method), in: in, out: out}
	u.method.stats.inFlight.Add(1)
	err := u.intercepted(ctx, opts)
	status := call.StatusOf(err)
	took := c.now() - start
	u.method.stats.ended(status, took, &u.traffic)
	if u.info != nil {
		u.info.ended(u.traffic.end(status, took, u.attempts))
	}
	if u.body != nil {
		u.body.Release()
	}
	*u = unaryCall{}
	unaryCalls.Put(u)
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

// apply sets o to the defaults of the client, changed by opts, and returns the content of the call.
func (c *Client) apply(o *callOptions, opts []CallOption) (*envelope.Content, *call.Status) {
	*o = callOptions{compression: c.cfg.Compression, wait: c.cfg.WaitForReady}
	for _, opt := range opts {
		opt(o)
	}
	if o.contentType == "" || o.contentType == c.content.Type {
		return c.content, nil
	}
	content, err := c.cfg.contentOf(o.contentType)
	if err != nil {
		return nil, statusf(call.InvalidArgument, "%v", err)
	}
	return content, nil
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
	u.deadline = c.deadline(ctx, &u.options)
	return u.tryAll(ctx)
}

// deadline returns the deadline of a call, or zero.
func (c *Client) deadline(ctx context.Context, o *callOptions) time.Time {
	deadline, has := ctx.Deadline()
	timeout := o.timeout
	if timeout == 0 && !has {
		timeout = c.cfg.Timeout
	}
	if timeout > 0 {
		if at := time.Now().Add(timeout); !has || at.Before(deadline) {
			return at
		}
	}
	return deadline
}

// maxRefused is the number of attempts that servers have not begun, after which a call fails.
const maxRefused = 16

// tryAll makes attempts until one succeeds, or another one is not allowed.
func (u *unaryCall) tryAll(ctx context.Context) error {
	c := u.client
	idempotent := u.options.idempotent || u.method.idempotent
	c.retries.Request(c.now())
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
		status, unsent, avoid := a.status, a.resp.Unsent && a.status.Code == call.Unavailable, a.endpoint.Load()
		a.release()
		switch {
		case ctx.Err() != nil:
			return status
		case unsent && refused < maxRefused:
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

// attempt sends the request of a call once.
type attempt struct {
	client   *Client
	content  *envelope.Content
	head     call.Head
	body     *bufpool.Buf // retained
	wrapped  *bufpool.Buf // body in its envelope; nil without one
	wait     bool
	traffic  *traffic
	avoid    *balance.Endpoint                // where another attempt has just failed
	endpoint atomic.Pointer[balance.Endpoint] // where this one went; nil before
	lost     atomic.Bool                      // another attempt has succeeded, and this one was cancelled
	took     time.Duration                    // from the choice of the connection to the response
	resp     call.Response
	result   []byte       // the encoded response: part of resp.Data
	status   *call.Status // nil means success
}

// of prepares a as an attempt of u.
func (a *attempt) of(u *unaryCall) {
	u.body.Retain()
	*a = attempt{client: u.client, content: u.content, body: u.body, wait: u.options.wait, traffic: &u.traffic}
	a.head = call.Head{
		Method: u.method.name, Content: u.content.Type, Deadline: u.deadline,
		Metadata: u.metadata, Compression: u.options.compression,
	}
}

// setBody makes a copy of data the request.
func (a *attempt) setBody(data []byte) {
	a.body = bufpool.Get(len(data))
	a.body.B = append(a.body.B, data...)
}

// run sends the request and waits for the response.
func (a *attempt) run(ctx context.Context) {
	c := a.client
	conn, status := c.pick(ctx, a.head.Deadline, a.wait, a.avoid)
	if status != nil {
		a.status = status
		return
	}
	a.runOn(ctx, conn)
}

// runOn sends the request on conn, which pick has returned, and waits for the response.
func (a *attempt) runOn(ctx context.Context, conn *conn) {
	c := a.client
	a.endpoint.Store(&conn.endpoint.Endpoint)
	start := c.now()
	err := a.send(ctx, conn)
	now := c.now()
	a.status = call.StatusOf(err)
	a.took = now - start
	if a.resp.Unsent && a.status.Code == call.Unavailable {
		conn.giveUp()
	}
	conn.done(a.outcome(conn), a.took, now)
}

// send makes the call on conn.
func (a *attempt) send(ctx context.Context, conn *conn) error {
	data, id := a.body.B, uint64(0)
	if e := a.content.Envelope; e != nil {
		if conn.numbered != nil {
			id = conn.numbered.NextID()
			a.head.ID = id
		} else {
			id = a.client.ids.Add(1)
		}
		a.wrapped = bufpool.Get(len(data) + 256)
		var err error
		if a.wrapped.B, err = e.AppendRequest(a.wrapped.B, envelope.Request{Method: a.head.Method, ID: id, Body: data}); err != nil {
			return statusf(call.InvalidArgument, "the request cannot be put into its envelope: %v", err)
		}
		data = a.wrapped.B
	}
	a.traffic.sent(data)
	if err := conn.Call(ctx, &a.head, data, &a.resp); err != nil {
		return err
	}
	a.traffic.received(a.resp.Data)
	if err := checkSize("response", len(a.resp.Data), a.client.cfg.MaxMessage); err != nil {
		return err
	}
	a.result = a.resp.Data
	if a.content.Envelope == nil {
		return nil
	}
	r, err := a.content.Envelope.ParseResponse(a.resp.Data)
	switch {
	case err != nil:
		return err
	case r.Status != nil:
		return r.Status
	case r.ID != 0 && r.ID != id:
		return statusf(call.Internal, "the response's envelope has the id %d, and the request has %d", r.ID, id)
	case r.Method != "" && r.Method != a.head.Method:
		return statusf(call.Internal, "the response's envelope names the method %q, and the request %s", r.Method, a.head.Method)
	}
	a.result = r.Body
	return nil
}

// outcome returns what the balancer learns of the attempt.
func (a *attempt) outcome(conn *conn) balance.Outcome {
	switch {
	case a.status == nil:
		return balance.Success
	case a.resp.Unsent:
		return balance.Canceled // a server that drains has not failed
	}
	switch a.status.Code {
	case call.Canceled:
		if a.lost.Load() {
			return balance.Failure // slower than a second attempt that began later
		}
		return balance.Canceled
	case call.DeadlineExceeded:
		return balance.Timeout
	case call.Unavailable:
		if conn.Err() != nil {
			return balance.Reset
		}
		return balance.Failure
	case call.ResourceExhausted, call.Internal, call.DataLoss:
		return balance.Failure
	}
	return balance.Success // the server has handled the call
}

// release gives back the memory of the attempt.
func (a *attempt) release() {
	a.resp.Release()
	a.body.Release()
	if a.wrapped != nil {
		a.wrapped.Release()
	}
	a.body, a.wrapped, a.result = nil, nil, nil
}
