package native

import (
	"context"
	"errors"
	"time"

	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
)

// Closing is closed when the connection takes no further call.
func (s *session) Closing() <-chan struct{} { return s.closing }

// Err returns why the connection ended.
func (s *session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// Relayed reports whether the other end passes calls on to servers.
func (s *session) Relayed() bool { return s.node }

// Call sends one message and waits for one.
func (s *session) Call(ctx context.Context, head *call.Head, data []byte, resp *call.Response) error {
	o := newUnary()
	unsent, err := s.unary(ctx, head, data, o)
	resp.Header, resp.Trailer, resp.Unsent = o.header, o.trailer, unsent
	if err != nil {
		o.free()
		return err
	}
	resp.Data, resp.Free = o.response.b, o.free
	return nil
}

// unary does a call. unsent says that no handler has seen the call. The error is a *call.Status.
func (s *session) unary(ctx context.Context, head *call.Head, data []byte, o *outgoing) (unsent bool, err error) {
	if ctx.Err() != nil {
		return true, contextStatus(ctx)
	}
	at, inHead := head.EarlierDeadline(ctx)
	var space [256]byte
	frame, err := s.callFrame(head, at, space[:0])
	if err != nil {
		return true, err
	}
	frame.Flags, frame.Message = wire.FlagEnd, data
	if frame.Compression != wire.Uncompressed {
		packed := newMessage()
		defer packed.free()
		if frame.Message, err = pack(packed, head.Compression, data); err != nil {
			return true, err
		}
		if packed.compressed {
			frame.Flags |= wire.FlagCompressed
		}
	}
	until := wait{ctx: ctx, call: o}
	var expired <-chan time.Time
	if inHead {
		until.at = at
		expired = o.startTimer(time.Until(at))
		defer o.timer.Stop()
	}
	o.charged = len(frame.Extension) + len(frame.Message)
	if err := s.acquire(until, o.charged); err != nil {
		return true, err
	}
	if err := s.register(o, head.ID); err != nil {
		return true, err
	}
	if err := s.sendUnary(until, &frame, head, o); err != nil {
		return true, err
	}
	if done := ctx.Done(); done != nil || expired != nil {
		var status *call.Status
		select {
		case <-o.wake:
		case <-done:
			status = contextStatus(ctx)
		case <-expired:
			status = deadlinePassed()
		}
		if status != nil {
			if s.abandon(o, status) {
				return false, status
			}
			<-o.wake
		}
	} else {
		<-o.wake
	}
	if o.status != nil {
		return o.notBegun, o.status
	}
	return false, s.onlyResponse(o, head.Compression)
}

func deadlinePassed() *call.Status {
	return &call.Status{Code: call.DeadlineExceeded, Message: "the deadline has passed"}
}

// startTimer returns a channel that gets an element after d.
func (o *outgoing) startTimer(d time.Duration) <-chan time.Time {
	if o.timer == nil {
		o.timer = time.NewTimer(d)
	} else {
		o.timer.Reset(d)
	}
	return o.timer.C
}

// sendUnary sends CALL with all pieces of the message. After an error o is not registered any more, and no handler has seen the call:
// it begins when the whole message has arrived.
func (s *session) sendUnary(until wait, frame *wire.CallFrame, head *call.Head, o *outgoing) error {
	i, w := s.stream(o.id)
	frame.Call = o.id
	rest, err := s.sendCall(until, *frame, i, w, head)
	if err != nil {
		s.forget(o)
		return err
	}
	if len(rest) == 0 {
		return nil
	}
	err = s.sendPieces(until, w, wire.DataFrame{Call: o.id, Message: rest}, false)
	if errors.Is(err, errEnded) { // the server has refused the message
		return nil
	}
	if err != nil {
		if !s.abandon(o, call.StatusOf(err)) {
			<-o.wake
		}
	}
	return err
}

// onlyResponse moves the response to o.response. The error is a *call.Status.
func (s *session) onlyResponse(o *outgoing, compression string) error {
	s.mu.Lock()
	m := o.inbox.take()
	more := o.inbox.first != nil
	s.mu.Unlock()
	switch {
	case m == nil:
		return &call.Status{Code: call.Internal, Message: "the server ended the call without a response"}
	case more:
		m.free()
		return &call.Status{Code: call.Internal, Message: "the server sent more than one response to a call of Call: use Open"}
	}
	var err error
	o.response, err = unpack(m, compression, s.cfg.MaxMessage)
	return err
}
