package worker

import (
	"context"
	"fmt"
	"slices"

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
//
// Messages from a stream are sent ahead only if their keys differ. After one has failed, later ones with its key are not sent. The
// error of several such messages is a ferry.BatchError.
func (p *Pool) HandleBatch(ctx context.Context, in []ferry.Message, out ferry.Sender) error {
	b := batch{in: in}
	missed := 0 // processes that died before the message was written to them
	for b.finished < len(in) {
		next := &in[b.finished]
		if b.refuses(next) {
			b.end(ferry.ErrNotTried)
			continue
		}
		if err := checkSize(next, p.cfg.MaxMessage); err != nil {
			b.end(err)
			continue
		}
		c, err := p.acquire(ctx)
		if err != nil {
			b.end(err)
			b.leave()
			break
		}
		begun, err := p.handle(ctx, c, &b, out)
		if err == nil {
			continue
		}
		if missed++; begun || missed == maxDeadOnArrival {
			missed = 0
			b.end(err)
		}
	}
	return b.result()
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

// handle sends messages of b to c and then returns c to the pool. An error says how c died; begun then reports whether c may
// have begun the next message.
func (p *Pool) handle(ctx context.Context, c *process, b *batch, out ferry.Sender) (begun bool, err error) {
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
	r := &batchRun{process: c, batch: b, ctx: ctx, out: out, id: c.canceller.beginRun(), sent: b.finished}
	defer c.canceller.endRun()
	defer context.AfterFunc(ctx, func() { c.canceller.cancelRun(r.id, context.Cause(ctx)) })()
	err = r.exchange()
	begun = r.sent > r.finished
	p.count(r, begun)
	if err == nil {
		usable = true
		return false, nil
	}
	if cause := c.cancelCause(); cause != nil {
		err = cause
	}
	died := c.diagnose(err)
	died.started, died.Begun = true, begun
	return begun, died
}

// count adds the results of r to the pool's counters.
func (p *Pool) count(r *batchRun, died bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Handled += r.handled
	p.stats.Failed += r.failed
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
	*batch
	ctx        context.Context
	out        ferry.Sender
	id         uint64
	sent       int // messages of the batch that were sent or left out
	bytesAhead int // bytes of requests that were sent and have not ended
	sendErr    error

	handled, failed uint64
}

// exchange sends requests and receives responses until all sent requests have ended. After an error the process cannot
// be used any more.
func (r *batchRun) exchange() error {
	for {
		if err := r.send(); err != nil {
			return err
		}
		if r.sent == r.finished {
			return nil
		}
		if err := r.receive(); err != nil {
			return err
		}
	}
}

// send writes further requests ahead, up to the bounds. It does nothing while more than half of a bound is in use.
func (r *batchRun) send() error {
	if r.sent-r.finished > aheadRequests/2 || r.bytesAhead > aheadBytes/2 {
		return nil
	}
	for r.sent == r.finished && r.sent < len(r.in) && r.refuses(&r.in[r.sent]) {
		r.end(ferry.ErrNotTried)
		r.sent++
	}
	b := r.writeBuf[:0]
	was := r.sent
	for r.sent < len(r.in) && r.sent-r.finished < aheadRequests {
		m := &r.in[r.sent]
		size := len(m.Tag) + len(m.Payload)
		if r.refuses(m) || r.sentAhead(m) {
			break
		}
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

// sentAhead reports whether a message from a stream with the key of m was sent and has not ended.
func (r *batchRun) sentAhead(m *ferry.Message) bool {
	return m.Sequence != 0 && slices.ContainsFunc(r.in[r.finished:r.sent], func(other ferry.Message) bool { return sameKey(&other, m) })
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
		if want := r.number - uint64(r.sent-r.finished) + 1; number != want {
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
	if handled == nil {
		r.handled++
	} else {
		r.failed++
	}
	m := &r.in[r.finished]
	r.bytesAhead -= len(m.Tag) + len(m.Payload)
	r.end(handled)
	if r.finished < r.sent {
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
