package worker

import (
	"context"
	"errors"
	"fmt"

	"example.com/ferry"
)

// maxMissed is how many processes may die, one after the other, before a message could be written to them.
const maxMissed = 2

// How much is sent to a process ahead of what it handles: so many requests, of so many bytes unless it is one alone.
const (
	aheadRequests = 16
	aheadBytes    = 256 << 10
)

var _ ferry.BatchHandler = (*Pool)(nil)

// Handle has in handled by one of the processes and sends on what it answers, with the calling goroutine. It waits in line
// for a process. The context's end, and Config.Deadline, end the handler's context; a process that does not return within
// Config.Grace is killed.
//
// The error is the Sender's, a *HandlerError, the context's, or matches ErrBusy, ErrClosed, ErrDeadline, ErrTooLarge or
// ErrDied (*DiedError). After ErrBusy and ErrTooLarge the handler has not seen the message.
func (p *Pool) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	one := [1]ferry.Message{*in}
	return p.HandleBatch(ctx, one[:], out)
}

// HandleBatch has the messages handled one after the other by one process, which gets some of them ahead. An error does
// not stop it: messages that a process had not begun when it died go to the next one. Errors of several messages are
// joined.
func (p *Pool) HandleBatch(ctx context.Context, in []ferry.Message, out ferry.Sender) error {
	var errs problems
	missed := 0 // processes that died before they could be told
	for len(in) > 0 {
		if err := check(&in[0], p.cfg.MaxMessage); err != nil {
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
		if missed++; begun || missed == maxMissed {
			missed = 0
			errs.add(err)
			in = in[1:]
		}
	}
	return errs.join()
}

// Call has request handled as a message without a tag, and returns dst with the payloads of its answers appended. Its
// errors are those of Handle; dst is returned with what had come until then.
func (p *Pool) Call(ctx context.Context, request, dst []byte) ([]byte, error) {
	all := collector{dst}
	err := p.Handle(ctx, &ferry.Message{Payload: request}, &all)
	return all.b, err
}

// collector is a Sender that keeps payloads.
type collector struct{ b []byte }

func (c *collector) Send(_ context.Context, m ferry.Message) error {
	c.b = append(c.b, m.Payload...)
	return nil
}

// problems are the errors of a batch.
type problems []error

func (p *problems) add(err error) {
	if err != nil {
		*p = append(*p, err)
	}
}

func (p problems) join() error {
	if len(p) == 1 {
		return p[0]
	}
	return errors.Join(p...)
}

// handle has c handle messages from in on, gives c back, and returns how many have ended. An error tells how c died, and
// begun whether it may have begun the message after those.
func (p *Pool) handle(ctx context.Context, c *process, in []ferry.Message, out ferry.Sender, errs *problems) (n int, begun bool, err error) {
	usable := false
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if usable {
			p.pass(c)
			return
		}
		c.kill() // also where the Sender panicked, which leaves the process in the middle of a request
		p.discard(c)
	}()
	r := &run{process: c, ctx: ctx, in: in, out: out, id: c.watch.begin()}
	defer c.watch.finish()
	defer context.AfterFunc(ctx, func() { c.watch.end(r.id, context.Cause(ctx)) })()
	err = r.exchange()
	*errs = append(*errs, r.errs...)
	begun = r.sent > r.ended
	p.count(r, begun)
	if err == nil {
		usable = true
		return r.ended, false, nil
	}
	if cause := c.unwanted(); cause != nil {
		err = cause
	}
	died := c.autopsy(err)
	died.started, died.Begun = true, begun
	return r.ended, begun, died
}

// count adds what became of the messages of r.
func (p *Pool) count(r *run, died bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Handled += uint64(r.ended - len(r.errs))
	p.stats.Failed += uint64(len(r.errs))
	if died {
		p.stats.Died++
	}
}

// unwanted says why the request handled is not wanted any more; nil if it is.
func (c *process) unwanted() error {
	if cause := c.watch.cause(); cause != nil {
		return cause
	}
	if c.pool.ctx.Err() != nil {
		return ErrClosed
	}
	return nil
}

// run is one exchange with a process.
type run struct {
	*process
	ctx    context.Context
	in     []ferry.Message
	out    ferry.Sender
	id     uint64
	sent   int
	ended  int
	ahead  int // bytes sent and not ended
	unsent error
	errs   problems // of messages that ended
}

// exchange sends requests and takes answers until all that were sent have ended. An error means that the process is of
// no more use.
func (r *run) exchange() error {
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

// send writes as many requests as may be ahead, once half of that is free.
func (r *run) send() error {
	if r.sent-r.ended > aheadRequests/2 || r.ahead > aheadBytes/2 {
		return nil
	}
	b := r.process.out[:0]
	was := r.sent
	for r.sent < len(r.in) && r.sent-r.ended < aheadRequests {
		m := &r.in[r.sent]
		size := len(m.Tag) + len(m.Payload)
		if check(m, r.cfg.MaxMessage) != nil || r.ahead > 0 && r.ahead+size > aheadBytes {
			break
		}
		b = appendMessage(b, m)
		r.ahead += size
		r.sent++
	}
	r.process.out = kept(b)
	if r.sent == was {
		return nil
	}
	if !r.watch.sent(r.number + uint64(r.sent-was)) {
		r.sent = was // the context has ended
		return nil
	}
	r.number += uint64(r.sent - was)
	n, err := r.conn.Write(b)
	if err != nil && n == 0 {
		r.sent = was // the process has not seen them
	}
	return err
}

// receive takes one frame.
func (r *run) receive() error {
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
			return &ProtocolError{Reason: fmt.Sprintf("an answer of %d bytes exceeds MaxMessage %d", len(m.Payload), r.cfg.MaxMessage)}
		}
		r.tag = m.Tag
		r.answer(m)
		return nil
	case end:
		number, handled, err := parseEnd(body)
		if err != nil {
			return err
		}
		if want := r.number - uint64(r.sent-r.ended) + 1; number != want {
			return &ProtocolError{Reason: fmt.Sprintf("the end of request %d, want that of %d", number, want)}
		}
		r.finished(handled)
		return nil
	}
	return &ProtocolError{Reason: fmt.Sprintf("a frame of kind %d, want a message (%d) or an end (%d)", k, message, end)}
}

// answer sends m on. The time that takes is not the process's.
func (r *run) answer(m ferry.Message) {
	if r.unsent != nil {
		return
	}
	r.watch.pause()
	r.unsent = r.out.Send(r.ctx, m)
	r.watch.resume()
	if r.unsent != nil {
		r.watch.stop(r.unsent)
	}
}

// finished is told how the handler of the oldest request ended.
func (r *run) finished(handled error) {
	if cause := r.unwanted(); handled != nil && cause != nil {
		handled = cause
	}
	if r.unsent != nil {
		handled, r.unsent = r.unsent, nil
	}
	r.errs.add(handled)
	m := &r.in[r.ended]
	r.ahead -= len(m.Tag) + len(m.Payload)
	r.ended++
	if r.ended < r.sent {
		r.watch.next()
	}
}

// kept returns b for use again, unless one large message has made it large.
func kept(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}
