package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"example.com/ferry/rpc/call"
)

var errDirectLost = errors.New("direct: the connection is lost")

// directConn is both ends of a connection.
type directConn struct {
	listener *directListener
	closing  chan struct{}
	ctx      context.Context // ends when the connection is lost
	cancel   context.CancelCauseFunc

	// Protected by listener.mu.
	stopped bool // closing is closed
	active  int  // calls in progress
}

// directNumbered is a conn that numbers its calls.
type directNumbered struct {
	*directConn
	last atomic.Uint64
}

func (n *directNumbered) NextID() uint64 { return n.last.Add(1) }

// stop makes c accept no further call. The caller holds listener.mu.
func (c *directConn) stop() {
	if !c.stopped {
		c.stopped = true
		close(c.closing)
	}
}

// lose ends c. The caller holds listener.mu.
func (c *directConn) lose() {
	c.cancel(errDirectLost)
	delete(c.listener.conns, c)
	c.listener.changed.Broadcast()
}

func (c *directConn) Closing() <-chan struct{} { return c.closing }

func (c *directConn) Err() error { return context.Cause(c.ctx) }

func (c *directConn) Close(ctx context.Context) error {
	l := c.listener
	defer context.AfterFunc(ctx, l.wake)()
	l.mu.Lock()
	defer l.mu.Unlock()
	c.stop()
	for c.active > 0 && ctx.Err() == nil && c.ctx.Err() == nil {
		l.changed.Wait()
	}
	c.lose()
	return nil
}

func (c *directConn) Call(ctx context.Context, head *call.Head, data []byte, resp *call.Response) error {
	if !c.listener.begin(c) {
		resp.Unsent = true
		return call.Errorf(call.Unavailable, "direct: the connection is closing")
	}
	if c.listener.protocol.Inline {
		return c.callInline(ctx, head, data, resp)
	}
	s := c.begin(ctx, head)
	s.requests <- bytes.Clone(data)
	close(s.requests)
	go s.serve()
	select {
	case <-s.done:
	case <-s.ctx.Done():
		select {
		case <-s.done:
		default:
			return s.cause(ctx)
		}
	}
	if s.status != nil && s.status.Code == call.Canceled && (ctx.Err() != nil || errors.Is(context.Cause(s.ctx), errDirectLost)) {
		return s.cause(ctx) // the server's status could not have arrived in time
	}
	if s.status != nil {
		resp.Trailer = s.trailer
		return s.status
	}
	resp.Data, resp.Header, resp.Trailer = s.last, s.header, s.trailer
	if s.last == nil {
		return call.Errorf(call.Internal, "direct: the response has no message")
	}
	return nil
}

// directInline is a unary call without goroutines.
type directInline struct {
	directStream
	request  []byte
	response *call.Response
}

var directInlines = sync.Pool{New: func() any { return new(directInline) }}

func (c *directConn) callInline(ctx context.Context, head *call.Head, data []byte, resp *call.Response) error {
	defer c.listener.end(c)
	s := directInlines.Get().(*directInline)
	s.head, s.conn, s.request, s.response = head, c, data, resp
	c.listener.service.Serve(directContext{ctx}, c.listener.service.Method(head.Method), s)
	status := s.status
	resp.Header = s.header
	*s = directInline{}
	directInlines.Put(s)
	if status != nil {
		return status
	}
	return nil
}

// directContext is a context without values.
type directContext struct{ context.Context }

func (directContext) Value(any) any { return nil }

func (s *directInline) Recv() ([]byte, error) { return s.request, nil }

func (s *directInline) Finish(last []byte, status *call.Status, trailer call.Metadata) {
	s.status = status
	s.response.Data = append(s.response.Data, last...)
	s.response.Trailer = trailer
}
