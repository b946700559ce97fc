package native

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"example.com/ferry/internal/peer"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
)

// clientStream is the caller's end of a call of any shape.
type clientStream struct {
	outgoing
	s           *session
	w           *peer.FrameWriter
	ctx         context.Context
	release     func() // stops what waits for ctx
	compression string
	sendClosed  atomic.Bool
	current     *message // that Recv returned last
}

var (
	_ call.ClientStream = (*clientStream)(nil)
	_ call.Unbegun      = (*clientStream)(nil)
)

var errSendClosed = errors.New("native: Send after CloseSend")

// Open begins a call of any shape.
func (s *session) Open(ctx context.Context, head *call.Head) (call.ClientStream, error) {
	if ctx.Err() != nil {
		return nil, contextStatus(ctx)
	}
	at, inHead := head.EarlierDeadline(ctx)
	frame, err := s.callFrame(head, at, nil)
	if err != nil {
		return nil, err
	}
	c := &clientStream{s: s, ctx: ctx, compression: head.Compression, release: func() {}}
	if inHead {
		c.ctx, c.release = context.WithDeadline(ctx, at)
	}
	if err := c.open(&frame, head); err != nil {
		c.release()
		return nil, err
	}
	stop := context.AfterFunc(c.ctx, func() { s.abandon(&c.outgoing, contextStatus(c.ctx)) })
	cancel := c.release
	c.release = func() { stop(); cancel() }
	return c, nil
}

// open sends CALL.
func (c *clientStream) open(frame *wire.CallFrame, head *call.Head) error {
	s := c.s
	if err := s.acquire(wait{ctx: c.ctx}, 0); err != nil {
		return err
	}
	c.sending.left = s.streamWindow
	if err := s.register(&c.outgoing, head.ID); err != nil {
		return err
	}
	i, w := s.stream(c.id)
	c.w = w
	frame.Call, frame.Flags = c.id, wire.FlagNoMessage
	if _, err := s.sendCall(wait{ctx: c.ctx}, *frame, i, w, head); err != nil {
		s.forget(&c.outgoing)
		return err
	}
	return nil
}

// Send sends a request.
func (c *clientStream) Send(data []byte) error {
	if c.sendClosed.Load() {
		return errSendClosed
	}
	ended, err := c.s.sendMessage(wait{ctx: c.ctx, call: &c.outgoing}, c.w, &c.sending, wire.DataFrame{Call: c.id, Message: data}, c.compression)
	if ended || err != nil {
		if err != nil { // no effect if the call has ended
			c.s.abandon(&c.outgoing, call.StatusOf(err))
		}
		return io.EOF
	}
	return nil
}

// CloseSend says that no request follows.
func (c *clientStream) CloseSend() error {
	if c.sendClosed.Swap(true) {
		return nil
	}
	c.w.Lock()
	if !c.w.Closed() {
		c.w.SetTail(wire.AppendData(c.w.Tail(wire.DataHeaderSize), wire.DataFrame{Flags: wire.FlagNoMessage | wire.FlagEnd, Call: c.id}))
	}
	c.w.Unlock()
	return nil
}

// Header waits for the header.
func (c *clientStream) Header() (call.Metadata, error) {
	for {
		c.s.mu.Lock()
		switch {
		case len(c.header) > 0 || c.responded || c.ended && c.status == nil:
			defer c.s.mu.Unlock()
			return c.header, nil
		case c.ended:
			defer c.s.mu.Unlock()
			return nil, c.status
		}
		news := c.news.wait()
		c.s.mu.Unlock()
		<-news // ctx ends the call
	}
}

// Recv returns the next response.
func (c *clientStream) Recv() ([]byte, error) {
	s := c.s
	c.current.free()
	c.current = nil
	for {
		s.mu.Lock()
		if m := c.inbox.take(); m != nil {
			credit := 0
			if !c.ended {
				credit = c.inbox.returned(len(m.b)+wire.MessageOverhead, s.cfg.StreamWindow)
			}
			s.mu.Unlock()
			if credit > 0 {
				s.sendCredit(c.w, c.id, credit)
			}
			m, err := unpack(m, c.compression, s.cfg.MaxMessage)
			if err != nil {
				s.abandon(&c.outgoing, call.StatusOf(err))
				return nil, err
			}
			c.current = m
			return m.b, nil
		}
		if c.ended {
			status := c.status
			s.mu.Unlock()
			c.release()
			if status == nil {
				return nil, io.EOF
			}
			return nil, status
		}
		news := c.news.wait()
		s.mu.Unlock()
		<-news // ctx ends the call
	}
}

// Trailer returns the trailer.
func (c *clientStream) Trailer() call.Metadata {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.trailer
}

// Unbegun reports whether no handler has seen the call.
func (c *clientStream) Unbegun() bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.ended && c.notBegun
}

// Cancel ends the call.
func (c *clientStream) Cancel() {
	c.s.abandon(&c.outgoing, &call.Status{Code: call.Canceled, Message: "the caller has cancelled the call"})
	c.release()
}
