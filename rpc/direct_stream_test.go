package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"example.com/ferry/rpc/call"
)

// directQueued is the number of messages that a stream holds in each direction.
const directQueued = 16

// directStream is the server's end of a call.
type directStream struct {
	head      *call.Head
	conn      *directConn
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
func (c *directConn) begin(ctx context.Context, head *call.Head) *directStream {
	h := *head
	s := &directStream{
		head: &h, conn: c, headerReady: make(chan struct{}), done: make(chan struct{}),
		requests: make(chan []byte, directQueued), responses: make(chan []byte, directQueued),
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
	unhookConn := context.AfterFunc(c.ctx, func() { s.cancel(errDirectLost) })
	s.release = func() {
		unhook()
		unhookConn()
		s.cancel(nil)
		stopTimer()
	}
	return s
}

// serve runs the handler.
func (s *directStream) serve() {
	l := s.conn.listener
	defer l.end(s.conn)
	defer s.release()
	l.service.Serve(s.ctx, l.service.Method(s.head.Method), s)
}

// cause returns the status of a call whose context has ended.
func (s *directStream) cause(ctx context.Context) *call.Status {
	switch {
	case errors.Is(context.Cause(s.ctx), errDirectLost) && ctx.Err() == nil:
		return &call.Status{Code: call.Unavailable, Message: errDirectLost.Error()}
	case ctx.Err() != nil:
		return call.StatusOf(ctx.Err())
	}
	return call.StatusOf(s.ctx.Err())
}

func (s *directStream) Head() *call.Head { return s.head }

func (s *directStream) Peer() *call.Peer { return &call.Peer{Addr: directAddr("client")} }

func (s *directStream) Recv() ([]byte, error) {
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

func (s *directStream) SetHeader(m call.Metadata) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.headerSent {
		return errors.New("direct: the header is already sent")
	}
	s.header = append(slices.Clip(s.header), m...)
	return nil
}

func (s *directStream) sendHeader() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.headerSent {
		s.headerSent = true
		close(s.headerReady)
	}
}

func (s *directStream) Send(data []byte) error {
	s.sendHeader()
	select {
	case s.responses <- bytes.Clone(data):
		return nil
	case <-s.ctx.Done():
		return call.StatusOf(s.ctx.Err())
	}
}

func (s *directStream) Finish(last []byte, status *call.Status, trailer call.Metadata) {
	if last != nil {
		s.last = append([]byte{}, last...)
	}
	s.status, s.trailer = status, trailer
	s.sendHeader()
	close(s.responses)
	close(s.done)
}

// Open implements call.Conn.
func (c *directConn) Open(ctx context.Context, head *call.Head) (call.ClientStream, error) {
	if !c.listener.begin(c) {
		return nil, call.Errorf(call.Unavailable, "direct: the connection is closing")
	}
	s := c.begin(ctx, head)
	go s.serve()
	return &directClientStream{s: s, ctx: ctx}, nil
}

// directClientStream is the client's end of a call.
type directClientStream struct {
	s         *directStream
	ctx       context.Context
	closeOnce sync.Once
	lastTaken bool
}

func (c *directClientStream) Send(data []byte) error {
	select {
	case <-c.s.done:
		return io.EOF
	case <-c.s.ctx.Done():
		return io.EOF
	case c.s.requests <- bytes.Clone(data):
		return nil
	}
}

func (c *directClientStream) CloseSend() error {
	c.closeOnce.Do(func() { close(c.s.requests) })
	return nil
}

func (c *directClientStream) Header() (call.Metadata, error) {
	select {
	case <-c.s.headerReady:
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		return c.s.header, nil
	case <-c.s.ctx.Done():
		return nil, c.s.cause(c.ctx)
	}
}

func (c *directClientStream) Recv() ([]byte, error) {
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

func (c *directClientStream) Trailer() call.Metadata {
	select {
	case <-c.s.done:
		return c.s.trailer
	default:
		return nil
	}
}

func (c *directClientStream) Cancel() { c.s.cancel(context.Canceled) }
