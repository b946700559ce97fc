package worker

import (
	"context"
	"errors"
	"fmt"

	"example.com/ferry"
)

// maxDeadOnArrival is how many processes in a row may die before a message is written to one of them. Then the message
// fails.
const maxDeadOnArrival = 2

// Bounds of the requests that a process receives before it handles them. A single request may exceed aheadBytes.
const (
	aheadRequests = 16
	aheadBytes    = 256 << 10
)

var _ ferry.BatchHandler = (*Pool)(nil)

// Handle waits for a process, which then handles in. Handle sends the responses to out on the calling goroutine. The
// handler's context ends with ctx, and after Config.Deadline. If the handler then does not return within Config.Grace,
// its process is killed.
//
// The error is that of the Sender, a *HandlerError, that of the context, or matches ErrBusy, ErrClosed, ErrDeadline,
// ErrTooLarge or ErrDied (*DiedError). After ErrBusy and ErrTooLarge the handler has not seen the message.
func (p *Pool) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	one := [1]ferry.Message{*in}
	return p.HandleBatch(ctx, one[:], out)
}

// HandleBatch waits for a process, which then handles the messages in order. Some messages are sent before the process
// begins them. HandleBatch continues after an error. If a process dies, the messages that it had not begun are sent to
// another process. The errors of several messages are joined.
func (p *Pool) HandleBatch(ctx context.Context, in []ferry.Message, out ferry.Sender) error {
	var errs batchErrors
	missed := 0 // processes that died before the message was written to them
	for len(in) > 0 {
		if err := checkSize(&in[0], p.cfg.MaxMessage); err != nil {
			errs.add(err)
			in = in[1:]
			continue
		}
		c, err := p.acquire(ctx)
		if err != nil {
			errs.add(err)
			break
		}
		n, begun, err := p.handle(ctx, c, in, out, &errs)
		in = in[n:]
		if err == nil {
			continue
		}
		if missed++; begun || missed == maxDeadOnArrival {
			missed = 0
			errs.add(err)
			in = in[1:]
		}
	}
	return errs.join()
}

// Call handles request as a message without a tag, and appends the payloads of the responses to dst. It returns the
// errors of Handle. After an error the result still holds the payloads received before.
func (p *Pool) Call(ctx context.Context, request, dst []byte) ([]byte, error) {
	all := payloadCollector{dst}
	err := p.Handle(ctx, &ferry.Message{Payload: request}, &all)
	return all.b, err
}

// payloadCollector is a Sender that appends payloads.
type payloadCollector struct{ b []byte }

func (c *payloadCollector) Send(_ context.Context, m ferry.Message) error {
	c.b = append(c.b, m.Payload...)
	return nil
}

// batchErrors holds the errors of the messages of one batch.
type batchErrors []error

func (p *batchErrors) add(err error) {
	if err != nil {
		*p = append(*p, err)
	}
}

func (p batchErrors) join() error {
	if len(p) == 1 {
		return p[0]
	}
	return errors.Join(p...)
}

// handle sends messages of in to c and then returns c to the pool. n is how many messages have ended. An error says how
// c died; begun then reports whether c may have begun the next message.
func (p *Pool) handle(ctx context.Context, c *process, in []ferry.Message, out ferry.Sender, errs *batchErrors) (n int, begun bool, err error) {
	usable := false
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if usable {
			p.handOver(c)
			return
		}
		c.kill() // after a panic of the Sender the process is still in the middle of a request
		p.discard(c)
	}()
	r := &batchRun{process: c, ctx: ctx, in: in, out: out, id: c.canceller.beginRun()}
	defer c.canceller.endRun()
	defer context.AfterFunc(ctx, func() { c.canceller.cancelRun(r.id, context.Cause(ctx)) })()
	err = r.exchange()
	*errs = append(*errs, r.errs...)
	begun = r.sent > r.ended
	p.count(r, begun)
	if err == nil {
		usable = true
		return r.ended, false, nil
	}
	if cause := c.cancelCause(); cause != nil {
		err = cause
	}
	died := c.diagnose(err)
	died.started, died.Begun = true, begun
	return r.ended, begun, died
}

// count adds the results of r to the pool's counters.
func (p *Pool) count(r *batchRun, died bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Handled += uint64(r.ended - len(r.errs))
	p.stats.Failed += uint64(len(r.errs))
	if died {
		p.stats.Died++
	}
}

// cancelCause returns why the current request was cancelled, or nil if it was not.
func (c *process) cancelCause() error {
	if cause := c.canceller.cause(); cause != nil {
		return cause
	}
	if c.pool.ctx.Err() != nil {
		return ErrClosed
	}
	return nil
}

// batchRun is the state of one call of handle.
type batchRun struct {
	*process
	ctx        context.Context
	in         []ferry.Message
	out        ferry.Sender
	id         uint64
	sent       int
	ended      int
	bytesAhead int // bytes of requests that were sent and have not ended
	sendErr    error
	errs       batchErrors // errors of messages that have ended
}

// exchange sends requests and receives responses until all sent requests have ended. After an error the process cannot
// be used any more.
func (r *batchRun) exchange() error {
	for {
		if err := r.send(); err != nil {
			return err
		}
		if r.sent == r.ended {
			return nil
		}
		if err := r.receive(); err != nil {
			return err
		}
	}
}

// send writes further requests ahead, up to the bounds. It does nothing while more than half of a bound is in use.
func (r *batchRun) send() error {
	if r.sent-r.ended > aheadRequests/2 || r.bytesAhead > aheadBytes/2 {
		return nil
	}
	b := r.writeBuf[:0]
	was := r.sent
	for r.sent < len(r.in) && r.sent-r.ended < aheadRequests {
		m := &r.in[r.sent]
		size := len(m.Tag) + len(m.Payload)
		if checkSize(m, r.cfg.MaxMessage) != nil || r.bytesAhead > 0 && r.bytesAhead+size > aheadBytes {
			break
		}
		b = appendMessage(b, m)
		r.bytesAhead += size
		r.sent++
	}
	r.writeBuf = reusable(b)
	if r.sent == was {
		return nil
	}
	if !r.canceller.requestsSent(r.number + uint64(r.sent-was)) {
		r.sent = was // the run was cancelled before these requests were written
		return nil
	}
	r.number += uint64(r.sent - was)
	n, err := r.conn.Write(b)
	if err != nil && n == 0 {
		r.sent = was // the process has not seen these requests
	}
	return err
}

// receive reads one frame and handles it.
func (r *batchRun) receive() error {
	k, body, err := r.frames.next()
	if err != nil {
		return err
	}
	switch k {
	case message:
		m, err := parseMessage(body, r.tag)
		if err != nil {
			return err
		}
		if len(m.Payload) > r.cfg.MaxMessage {
			return &ProtocolError{Reason: fmt.Sprintf("a response of %d bytes exceeds MaxMessage %d", len(m.Payload), r.cfg.MaxMessage)}
		}
		r.tag = m.Tag
		r.forward(m)
		return nil
	case end:
		number, handled, err := parseEnd(body)
		if err != nil {
			return err
		}
		if want := r.number - uint64(r.sent-r.ended) + 1; number != want {
			return &ProtocolError{Reason: fmt.Sprintf("the end of request %d, want that of %d", number, want)}
		}
		r.requestEnded(handled)
		return nil
	}
	return &ProtocolError{Reason: fmt.Sprintf("a frame of kind %d, want a message (%d) or an end (%d)", k, message, end)}
}

// forward passes m to the Sender. The request's deadline is paused during the call.
func (r *batchRun) forward(m ferry.Message) {
	if r.sendErr != nil {
		return
	}
	r.canceller.pause()
	r.sendErr = r.out.Send(r.ctx, m)
	r.canceller.resume()
	if r.sendErr != nil {
		r.canceller.cancelCurrent(r.sendErr)
	}
}

// requestEnded records the result of the oldest request that has not ended.
func (r *batchRun) requestEnded(handled error) {
	if cause := r.cancelCause(); handled != nil && cause != nil {
		handled = cause
	}
	if r.sendErr != nil {
		handled, r.sendErr = r.sendErr, nil
	}
	r.errs.add(handled)
	m := &r.in[r.ended]
	r.bytesAhead -= len(m.Tag) + len(m.Payload)
	r.ended++
	if r.ended < r.sent {
		r.canceller.nextRequest()
	}
}

// reusable returns b emptied. It returns nil if b is too large to keep.
func reusable(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}
