package rpctest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"example.com/ferry/rpc/call"
)

// queued is the number of messages that a stream holds in each direction.
const queued = 16

// stream is the server's end of a call.
type stream struct {
	head      *call.Head
	conn      *conn
	ctx       context.Context // ends with the client's, at the deadline, or when the connection is lost
	cancel    context.CancelCauseFunc
	release   func()      // of ctx
	requests  chan []byte // closed by CloseSend
	responses chan []byte // closed by Finish

	mu          sync.Mutex
	header      call.Metadata
	headerReady chan struct{} // closed by the first Send and by Finish
	headerSent  bool

	// Set by Finish, before it closes done.
	last    []byte
	status  *call.Status
	trailer call.Metadata
	done    chan struct{}
}

// begin makes a call of c.
func (c *conn) begin(ctx context.Context, head *call.Head) *stream {
	h := *head
	s := &stream{
		head: &h, conn: c, headerReady: make(chan struct{}), done: make(chan struct{}),
		requests: make(chan []byte, queued), responses: make(chan []byte, queued),
	}
	// The server's context has none of the client's values, as if there were a network in between.
	own, stopTimer := context.Background(), context.CancelFunc(func() {})
	if !head.Deadline.IsZero() {
		own, stopTimer = context.WithDeadline(own, head.Deadline)
	}
	if at, ok := ctx.Deadline(); ok && head.Deadline.IsZero() {
		own, stopTimer = context.WithDeadline(own, at)
	}
	s.ctx, s.cancel = context.WithCancelCause(own)
	unhook := context.AfterFunc(ctx, func() { s.cancel(ctx.Err()) })
	unhookConn := context.AfterFunc(c.ctx, func() { s.cancel(errLost) })
	s.release = func() {
		unhook()
		unhookConn()
		s.cancel(nil)
		stopTimer()
	}
	return s
}

// serve runs the handler.
func (s *stream) serve() {
	l := s.conn.listener
	defer l.end(s.conn)
	defer s.release()
	l.service.Serve(s.ctx, l.service.Method(s.head.Method), s)
}

// cause returns the status of a call whose context has ended.
func (s *stream) cause(ctx context.Context) *call.Status {
	switch {
	case errors.Is(context.Cause(s.ctx), errLost) && ctx.Err() == nil:
		return &call.Status{Code: call.Unavailable, Message: errLost.Error()}
	case ctx.Err() != nil:
		return call.StatusOf(ctx.Err())
	}
	return call.StatusOf(s.ctx.Err())
}

func (s *stream) Head() *call.Head { return s.head }

func (s *stream) Peer() *call.Peer { return &call.Peer{Addr: addr("client")} }

func (s *stream) Recv() ([]byte, error) {
	select {
	case data, ok := <-s.requests:
		if !ok {
			return nil, io.EOF
		}
		return data, nil
	case <-s.ctx.Done():
		return nil, call.StatusOf(s.ctx.Err())
	}
}

func (s *stream) SetHeader(m call.Metadata) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.headerSent {
		return errors.New("rpctest: the header is already sent")
	}
	s.header = append(slices.Clip(s.header), m...)
	return nil
}

func (s *stream) sendHeader() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.headerSent {
		s.headerSent = true
		close(s.headerReady)
	}
}

func (s *stream) Send(data []byte) error {
	s.sendHeader()
	select {
	case s.responses <- bytes.Clone(data):
		return nil
	case <-s.ctx.Done():
		return call.StatusOf(s.ctx.Err())
	}
}

func (s *stream) Finish(last []byte, status *call.Status, trailer call.Metadata) {
	if last != nil {
		s.last = append([]byte{}, last...)
	}
	s.status, s.trailer = status, trailer
	s.sendHeader()
	close(s.responses)
	close(s.done)
}

// Open implements call.Conn.
func (c *conn) Open(ctx context.Context, head *call.Head) (call.ClientStream, error) {
	if !c.listener.begin(c) {
		return nil, call.Errorf(call.Unavailable, "rpctest: the connection is closing")
	}
	s := c.begin(ctx, head)
	go s.serve()
	return &clientStream{s: s, ctx: ctx}, nil
}

// clientStream is the client's end of a call.
type clientStream struct {
	s         *stream
	ctx       context.Context
	closeOnce sync.Once
	lastTaken bool
}

func (c *clientStream) Send(data []byte) error {
	select {
	case <-c.s.done:
		return io.EOF
	case <-c.s.ctx.Done():
		return io.EOF
	case c.s.requests <- bytes.Clone(data):
		return nil
	}
}

func (c *clientStream) CloseSend() error {
	c.closeOnce.Do(func() { close(c.s.requests) })
	return nil
}

func (c *clientStream) Header() (call.Metadata, error) {
	select {
	case <-c.s.headerReady:
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		return c.s.header, nil
	case <-c.s.ctx.Done():
		return nil, c.s.cause(c.ctx)
	}
}

func (c *clientStream) Recv() ([]byte, error) {
	select {
	case data, ok := <-c.s.responses:
		if ok {
			return data, nil
		}
	case <-c.s.ctx.Done(): // it also ends after the handler
		select {
		case <-c.s.done:
		default:
			return nil, c.s.cause(c.ctx)
		}
		if data, ok := <-c.s.responses; ok {
			return data, nil
		}
	}
	<-c.s.done
	if c.s.last != nil && !c.lastTaken && c.s.status == nil {
		c.lastTaken = true
		return c.s.last, nil
	}
	if c.s.status != nil {
		return nil, c.s.status
	}
	return nil, io.EOF
}

func (c *clientStream) Trailer() call.Metadata {
	select {
	case <-c.s.done:
		return c.s.trailer
	default:
		return nil
	}
}

func (c *clientStream) Cancel() { c.s.cancel(context.Canceled) }
