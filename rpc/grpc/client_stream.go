package grpc

import (
	"context"
	"io"
	"time"

	"example.com/ferry/internal/h2conn"
	"example.com/ferry/rpc/call"
)

// clientStream is a client's call of any shape.
type clientStream struct {
	clientCall
	compression string
	headed      chan struct{} // closed when the head has arrived or the call has ended
	isHeaded    bool
	stopContext func() bool // nil if the context never ends
	timer       *time.Timer // nil without a deadline of its own
}

var (
	_ call.ClientStream = (*clientStream)(nil)
	_ call.Unbegun      = (*clientStream)(nil)
)

// Open begins a call of any shape.
func (c *clientConn) Open(ctx context.Context, head *call.Head) (call.ClientStream, error) {
	if err := ctx.Err(); err != nil {
		return nil, call.StatusOf(err)
	}
	if status := checkHead(head); status != nil {
		return nil, status
	}
	s := &clientStream{clientCall: clientCall{pipe: newPipe(&c.link), conn: c}, compression: head.Compression, headed: make(chan struct{})}
	var ownTimer bool
	var timeout <-chan time.Time
	if s.deadline, ownTimer = head.EarlierDeadline(ctx); ownTimer {
		t := time.NewTimer(time.Until(s.deadline))
		defer t.Stop()
		timeout = t.C
	}
	c.h2.Lock()
	defer c.h2.Unlock()
	if status := s.start(ctx, head, timeout); status != nil {
		return nil, status
	}
	s.onEnd = s.wake
	if ownTimer {
		s.timer = time.AfterFunc(time.Until(s.deadline), func() { s.cancel(deadlineExceeded()) })
	}
	if ctx.Done() != nil {
		s.stopContext = context.AfterFunc(ctx, func() { s.cancel(call.StatusOf(ctx.Err())) })
	}
	return s, nil
}

// wake is called when the head has arrived, and at the end. It needs the lock.
func (s *clientStream) wake() {
	if !s.isHeaded {
		s.isHeaded = true
		close(s.headed)
	}
	if !s.ended {
		return
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.stopContext != nil {
		s.stopContext()
	}
}

// Send sends a message.
func (s *clientStream) Send(data []byte) error {
	if status := checkLength(data); status != nil {
		return status
	}
	small := shrink(data, s.compression)
	if small != nil {
		data = small.B
		defer small.Release()
	}
	h2 := s.conn.h2
	h2.Lock()
	defer h2.Unlock()
	if !s.awaitRoom(h2conn.Until{}) || !s.send(data, small != nil, false, h2conn.Until{}) {
		return io.EOF
	}
	return nil
}

// CloseSend ends the client's side.
func (s *clientStream) CloseSend() error {
	h2 := s.conn.h2
	h2.Lock()
	defer h2.Unlock()
	if s.canSend() {
		s.stream.Write(nil, true)
	}
	return nil
}

// Header waits for the server's header. A call that has ended without one has none.
func (s *clientStream) Header() (call.Metadata, error) {
	<-s.headed
	s.conn.h2.Lock()
	defer s.conn.h2.Unlock()
	if !s.gotHead && s.status != nil {
		return nil, s.status
	}
	return s.header, nil
}

// Recv returns the next message.
func (s *clientStream) Recv() ([]byte, error) {
	m, err := s.recv(context.Background())
	if err == nil {
		return m, nil
	}
	s.dropTaken()
	if err != io.EOF { //nolint:errorlint // recv returns io.EOF itself
		s.cancel(call.StatusOf(err)) // has no effect on a call that has ended
	}
	return nil, err
}

// Trailer returns the server's trailer.
func (s *clientStream) Trailer() call.Metadata {
	s.conn.h2.Lock()
	defer s.conn.h2.Unlock()
	if !s.ended {
		return nil
	}
	return s.trailer
}

// Unbegun reports whether the server has refused the call: by GOAWAY, or by REFUSED_STREAM.
func (s *clientStream) Unbegun() bool {
	s.conn.h2.Lock()
	defer s.conn.h2.Unlock()
	return s.ended && s.unsent
}

// Cancel ends the call.
func (s *clientStream) Cancel() {
	s.cancel(statusf(call.Canceled, "grpc: the client has cancelled the call"))
}

func (s *clientStream) cancel(status *call.Status) {
	h2 := s.conn.h2
	h2.Lock()
	defer h2.Unlock()
	if !s.ended {
		s.dropArrived()
		s.abort(status)
	}
}
