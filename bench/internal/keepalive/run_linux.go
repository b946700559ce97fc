package keepalive

import (
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/ferry/bench/internal/rawpoll"
)

// run is the state of one Load.
type run struct {
	*client
	measurement
	next int // number of the next request, for a Load with Rate or Once
	free int // number of connections without a request in flight
}

// Run generates load l, and waits for the last response.
func (c *client) Run(l Load) (*Report, error) {
	if err := l.validate(); err != nil {
		return nil, err
	}
	r := &run{client: c, measurement: newMeasurement(l), free: len(c.conns)}
	c.failures, c.failure = 0, nil
	if l.Rate == 0 && l.Once == 0 {
		for _, n := range c.conns {
			if err := r.send(n, r.now()); err != nil {
				return nil, err
			}
		}
	}
	for {
		if err := errors.Join(r.mark(), r.sendDue()); err != nil {
			return nil, err
		}
		if r.over() {
			break
		}
		if err := r.receive(); err != nil {
			return nil, err
		}
	}
	for _, n := range c.conns {
		c.failures += len(n.waiting)
		n.waiting = nil
		if n.busy {
			if err := r.fail(n, fmt.Errorf("no response within %v", r.now()-n.due)); err != nil {
				return nil, err
			}
		}
	}
	if l.Once > 0 {
		c.failures += len(c.conns) - r.next
	}
	r.report.Failures = c.failures
	if c.failure != nil {
		r.report.Failure = c.failure.Error()
	}
	return &r.report, nil
}

// over reports whether every request has a response, or the wait for responses is over.
func (r *run) over() bool {
	if r.Once > 0 && r.next == len(r.conns) && r.free == len(r.conns) {
		return true
	}
	return len(r.marks) == 2 && (r.free == len(r.conns) || r.now() > r.end()+r.Patience)
}

// sendDue sends all requests that are due now, over all connections in turn.
func (r *run) sendDue() error {
	for ; r.Once > 0 && r.next < len(r.conns) && len(r.conns)-r.free < r.Once && r.now() < r.end(); r.next++ {
		if err := r.send(r.conns[r.next], r.now()); err != nil {
			return err
		}
	}
	for ; r.Rate > 0; r.next++ {
		due := r.dueAt(r.next)
		if due > r.now() || due >= r.end() {
			return nil
		}
		n := r.conns[r.next%len(r.conns)]
		if n.busy {
			n.waiting = append(n.waiting, due)
			continue
		}
		if err := r.send(n, due); err != nil {
			return err
		}
	}
	return nil
}

// send sends a request that is due at a time.
func (r *run) send(n *conn, due time.Duration) error {
	if r.Rate > 0 && r.inWindow(due) {
		r.report.Late.Add(r.now() - due)
	}
	r.requests++
	n.id, n.due, n.busy = r.requests, due, true
	r.free--
	var err error
	if n.tls == nil {
		err = rawpoll.Write(n.fd, r.wire.request(n.id))
	} else {
		n.out = append(n.out, r.wire.request(n.id)...)
		err = n.flush()
	}
	if err != nil {
		return r.fail(n, err)
	}
	return nil
}

// receive reads responses until the next request is due.
func (r *run) receive() error {
	ready, err := r.poll.Wait(max(0, r.until(r.next)-r.now()))
	if err != nil {
		return err
	}
	for _, fd := range ready {
		n := r.byFD[fd]
		if err := r.read(n); err != nil {
			if err := r.fail(n, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// read reads all that has arrived on a connection.
func (r *run) read(n *conn) error {
	if n.full {
		if err := n.flush(); err != nil {
			return err
		}
	}
	for {
		k, err := n.read(r.buf)
		switch {
		case errors.Is(err, rawpoll.ErrAgain):
			return nil
		case errors.Is(err, io.EOF):
			return errClosed
		case err != nil:
			return err
		}
		if err := r.received(n, k); err != nil || n.tls == nil {
			return err
		}
	}
}

// received handles the k bytes in r.buf, which were received on a connection.
func (r *run) received(n *conn, k int) error {
	if !n.busy {
		return fmt.Errorf("%d bytes without a request: %q", k, clip(r.buf[:k]))
	}
	in := r.buf[:k]
	if len(n.in) > 0 {
		n.in = append(n.in, in...)
		in = n.in
	}
	length, err := r.wire.checkResponse(in, n.id)
	if err != nil {
		return err
	}
	if length == 0 {
		if len(n.in) == 0 {
			n.in = append(n.in, in...)
		}
		return nil
	}
	if length < len(in) {
		return fmt.Errorf("%d bytes behind a response: %q", len(in)-length, clip(in[length:]))
	}
	n.in = n.in[:0]
	return r.verified(n)
}

var errClosed = errors.New("the server closed the connection")

// verified counts a valid response, and sends the next request on the connection.
func (r *run) verified(n *conn) error {
	r.count(n.due)
	return r.sendNext(n, r.now())
}

// sendNext sends the next request of a connection.
func (r *run) sendNext(n *conn, now time.Duration) error {
	n.busy = false
	r.free++
	switch {
	case len(n.waiting) > 0:
		due := n.waiting[0]
		n.waiting = n.waiting[1:]
		return r.send(n, due)
	case r.Rate == 0 && r.Once == 0 && now < r.end():
		return r.send(n, now)
	}
	return nil
}

// fail counts a failure and opens the connection again.
func (r *run) fail(n *conn, why error) error {
	if r.failures++; r.failure == nil {
		r.failure = fmt.Errorf("request %d: %w", n.id, why)
	}
	if r.failures > 100+len(r.conns) {
		return fmt.Errorf("keepalive: %d failures: %w", r.failures, r.failure)
	}
	rawpoll.Close(n.fd)
	n.in = n.in[:0]
	if err := r.dial(n); err != nil {
		return fmt.Errorf("%w; before that: %w", err, r.failure)
	}
	if n.busy {
		return r.sendNext(n, r.now())
	}
	return nil
}
