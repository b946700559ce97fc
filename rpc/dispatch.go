package rpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"example.com/ferry/cpu"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// serverCall is one call at a server. It is the context of its handler, which finds it by Value.
type serverCall struct {
	context.Context
	server   *Server
	method   *method
	stream   call.ServerStream
	start    time.Time
	content  *envelope.Content
	metadata call.Metadata
	peer     *call.Peer
	info     *Info // nil without interceptors and observer
	request  any   // *In; nil if the client sends many messages
	response any   // *Out that the handler has returned
	envelope envelope.Request
	out      *bufpool.Buf // the encoded response
	status   *call.Status // nil means OK
	traffic  traffic
	returned bool // run has returned: neither a panic nor runtime.Goexit has ended it

	mu       sync.Mutex // protects the fields below and the use of stream from SetHeader
	trailer  call.Metadata
	finished bool
}

// Value returns the call itself to callOf.
func (c *serverCall) Value(key any) any {
	if _, ok := key.(serverCallKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// Serve implements call.Service.
func (s *Server) Serve(ctx context.Context, cm call.Method, st call.ServerStream) {
	m, _ := cm.(*method)
	if m == nil {
		s.unknown.Add(1)
		st.Finish(nil, statusf(call.Unimplemented, "the server has no method %.100q", st.Head().Method), nil)
		return
	}
	c := m.begin()
	c.Context, c.server, c.method, c.stream, c.start = ctx, s, m, st, time.Now()
	c.metadata, c.peer = st.Head().Metadata, st.Peer()
	defer c.finish()
	active, inMethod := s.active.Add(1), m.stats.inFlight.Add(1)
	c.status = s.overloaded(active)
	switch {
	case c.status != nil:
	case m.maxCalls > 0 && inMethod > m.maxCalls:
		c.status = statusf(call.ResourceExhausted, "overloaded: %d calls of %s are in progress, which is its MaxCalls", m.maxCalls, m.name)
	case ctx.Err() != nil:
		c.status = call.StatusOf(ctx.Err()) // the deadline passed while the call waited for its goroutine
	default:
		c.content, c.status = m.content(st.Head().Content)
	}
	if c.status == nil {
		c.run()
	}
	c.returned = true
}

// overloaded returns a status if so many calls are too many.
func (s *Server) overloaded(active int64) *call.Status {
	if s.cfg.MaxCalls <= 0 || active <= int64(s.cfg.MaxCalls) {
		return nil
	}
	return statusf(call.ResourceExhausted, "overloaded: %d calls are in progress, which is ServerConfig.MaxCalls", s.cfg.MaxCalls)
}

// Admit implements call.Admitter: a server with too many calls in progress refuses a large request before it is read.
func (s *Server) Admit(context.Context, *call.Head, *call.Peer) error {
	if status := s.overloaded(s.active.Load() + 1); status != nil {
		return status
	}
	return nil
}

// run calls interceptors and handler, and encodes the response.
func (c *serverCall) run() {
	s, ctx := c.server, context.Context(c)
	var err error
	if s.cfg.Observer == nil && len(s.cfg.Interceptors) == 0 {
		err = c.invoke(ctx)
	} else {
		m := c.method
		c.info = &Info{Method: m.name, Content: c.content.Type, ClientStreams: m.clientStreams, ServerStreams: m.serverStreams, Peer: c.peer}
		if s.cfg.Observer != nil {
			ctx = s.cfg.Observer.CallStarted(ctx, c.info)
			c.info.OnEnd(func(e End) { s.cfg.Observer.CallEnded(ctx, c.info, e) })
		}
		err = intercept(ctx, s.cfg.Interceptors, c.info, c.invoke)
	}
	switch {
	case err != nil:
	case c.response != nil:
		err = c.encodeResponse()
	case !c.method.serverStreams:
		err = statusf(call.Internal, "an interceptor has ended the call without a response")
	}
	c.status = nonZero(call.StatusOf(err))
}

// nonZero returns Unknown for a status with the code OK: such an error is a mistake of a handler, and its call did fail.
func nonZero(s *call.Status) *call.Status {
	if s != nil && s.Code == call.OK {
		return statusf(call.Unknown, "the handler returned an error with the code OK: %s", s.Message)
	}
	return s
}

// invoke receives the request of a method that has one, and runs the handler.
func (c *serverCall) invoke(ctx context.Context) (err error) {
	m := c.method
	if !m.clientStreams {
		if err := c.receiveRequest(); err != nil {
			return err
		}
	}
	if m.pool == nil {
		c.response, err = m.handle(ctx, c)
		return err
	}
	c.response, err = cpu.Do(cpu.WithName(ctx, m.name), m.pool, func(ctx context.Context) (any, error) { return m.handle(ctx, c) })
	var p *cpu.PanicError
	switch {
	case errors.As(err, &p):
		return c.panicked(p.Value, p.Stack)
	case errors.Is(err, cpu.ErrBusy):
		return statusf(call.ResourceExhausted, "overloaded: the queue of the pool for heavy calls is full")
	case errors.Is(err, cpu.ErrClosed):
		return statusf(call.Unavailable, "the pool for heavy calls is closed")
	}
	return err
}

// receiveRequest receives and decodes the one request.
func (c *serverCall) receiveRequest() error {
	data, err := c.stream.Recv()
	if errors.Is(err, io.EOF) {
		return statusf(call.InvalidArgument, "%s expects a request, and the call has none", c.method.name)
	} else if err != nil {
		return err
	}
	return c.decode(data, c.request)
}

// decode decodes data, which the client has sent, into v.
func (c *serverCall) decode(data []byte, v any) error {
	c.traffic.received(data)
	if err := checkSize("request", len(data), c.server.cfg.MaxMessage); err != nil {
		return err
	}
	if e := c.content.Envelope; e != nil {
		head := c.stream.Head()
		r, err := e.ParseRequest(data)
		if err != nil {
			return err
		}
		c.envelope = r
		if err := agrees(r, head); err != nil {
			return err
		}
		data = r.Body
	}
	if err := c.content.Codec.Unmarshal(data, v); err != nil {
		code := call.InvalidArgument
		if u, ok := c.stream.(call.Undecodable); ok {
			code = u.UndecodableCode()
		}
		return statusf(code, "the request cannot be decoded: %v", err)
	}
	return c.info.message(false, v)
}

// agrees checks that an envelope names the call that carries it. Otherwise two readers would see two calls.
func agrees(r envelope.Request, head *call.Head) error {
	if r.Method != "" && r.Method != head.Method {
		return statusf(call.InvalidArgument, "the envelope names the method %q, and its call is one of %s", r.Method, head.Method)
	}
	if r.ID != 0 && head.ID != 0 && r.ID != head.ID {
		return statusf(call.InvalidArgument, "the envelope has the id %d, and its call has %d", r.ID, head.ID)
	}
	return nil
}

// checkSize returns ResourceExhausted for a message of n bytes above the limit.
func checkSize(kind string, n, limit int) error {
	if limit > 0 && n > limit {
		return statusf(call.ResourceExhausted, "the %s has %d bytes, and MaxMessage is %d", kind, n, limit)
	}
	return nil
}
