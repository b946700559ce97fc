package grpc

import (
	"cmp"
	"context"
	"sync"
	"time"

	"example.com/ferry/internal/h2conn"
	"example.com/ferry/rpc/call"
)

// unaryCall is a client's call with one message each way. It is used again once its response is released.
type unaryCall struct {
	clientCall
	timer *time.Timer // nil until it is needed
	free  func()
}

var unaryCalls sync.Pool

func newUnaryCall(c *clientConn) *unaryCall {
	u, ok := unaryCalls.Get().(*unaryCall)
	if !ok {
		u = &unaryCall{clientCall: clientCall{pipe: newPipe(nil), unary: true}}
		u.free = u.release
	}
	u.link, u.conn = &c.link, c
	return u
}

// release puts u into the pool. No goroutine and no stream may refer to u any more.
func (u *unaryCall) release() {
	u.dropTaken()
	if u.in != nil {
		u.in.Release()
	}
	for _, c := range []chan struct{}{u.readable, u.writable} {
		select {
		case <-c:
		default:
		}
	}
	u.clientCall = clientCall{pipe: pipe{readable: u.readable, writable: u.writable}, unary: true}
	unaryCalls.Put(u)
}

// Call sends one message and waits for one.
func (c *clientConn) Call(ctx context.Context, head *call.Head, data []byte, resp *call.Response) error {
	*resp = call.Response{}
	u := newUnaryCall(c)
	status := u.do(ctx, head, data)
	resp.Header, resp.Trailer, resp.Unsent, resp.Busy = u.header, u.trailer, u.unsent, u.busy
	if status == nil {
		if resp.Data, status = u.message(); status == nil {
			resp.Free = u.free
			return nil
		}
	}
	u.release()
	return status
}

// do makes the call. When it returns, the stream is released.
func (u *unaryCall) do(ctx context.Context, head *call.Head, data []byte) *call.Status {
	u.unsent = true
	if err := ctx.Err(); err != nil {
		return call.StatusOf(err)
	}
	if status := cmp.Or(checkHead(head), checkLength(data)); status != nil {
		return status
	}
	var timeout <-chan time.Time
	var ownTimer bool
	if u.deadline, ownTimer = head.EarlierDeadline(ctx); ownTimer {
		left := time.Until(u.deadline)
		if left <= 0 {
			return deadlineExceeded()
		}
		timeout = u.startTimer(left)
		defer u.timer.Stop()
	}
	small := shrink(data, head.Compression)
	if small != nil {
		data = small.B
		defer small.Release()
	}
	h2 := u.conn.h2
	h2.Lock()
	if status := u.start(ctx, head, timeout); status != nil {
		h2.Unlock()
		return status
	}
	u.unsent = false
	sent := u.send(data, small != nil, true, h2conn.Until{Done: ctx.Done(), Timeout: timeout})
	h2.Unlock()
	if !sent { // the call has ended, or must end now
		if err := ctx.Err(); err != nil {
			return u.cancel(call.StatusOf(err))
		}
		return u.cancel(deadlineExceeded())
	}
	select {
	case <-u.readable:
		return u.status
	case <-ctx.Done():
		return u.cancel(call.StatusOf(ctx.Err()))
	case <-timeout:
		return u.cancel(deadlineExceeded())
	}
}

func (u *unaryCall) startTimer(d time.Duration) <-chan time.Time {
	if u.timer == nil {
		u.timer = time.NewTimer(d)
	} else {
		u.timer.Reset(d)
	}
	return u.timer.C
}

// cancel ends the call early, unless its result has arrived meanwhile.
func (u *unaryCall) cancel(status *call.Status) *call.Status {
	h2 := u.conn.h2
	h2.Lock()
	defer h2.Unlock()
	u.abort(status)
	return u.status
}

// message returns the message of a call that has ended with OK.
func (u *unaryCall) message() ([]byte, *call.Status) {
	if u.in == nil {
		return nil, statusf(call.Unimplemented, "grpc: the server ends the call with OK and without a message") // doc/statuscodes.md of gRPC
	}
	u.taken, u.in = u.in, nil
	size, status := messageSize(u.taken.B, u.conn.cfg.MaxMessage)
	switch {
	case status != nil:
		return nil, status
	case len(u.taken.B) < size || len(u.taken.B) < prefixSize:
		return nil, statusf(call.Internal, "grpc: the response ends within its message")
	}
	m, err := u.plain(context.Background(), u.taken.B)
	if err != nil {
		return nil, call.StatusOf(err)
	}
	return m, nil
}
