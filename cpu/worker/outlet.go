package worker

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"example.com/ferry"
)

// An answer is usually the last thing a handler does, so it waits a moment for the end to be written with it.
const (
	flushDelay = 200 * time.Microsecond
	flushSize  = 32 << 10 // bytes that do not wait
)

// outlet writes frames to the parent, several at once where they come at once.
type outlet struct {
	w   io.Writer
	max int // bytes of the largest payload

	mu    sync.Mutex
	b     []byte
	err   error // of a write: the parent is gone
	timer *time.Timer
	armed bool
}

// end writes the end of a request: before the next one is begun, so that the parent knows which one a process died of.
func (o *outlet) end(number uint64, s status, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b = appendEnd(o.b, number, s, text)
	o.flush()
}

// answer appends an answer, to be written soon. The caller holds mu.
func (o *outlet) answer(m *ferry.Message) error {
	o.b = appendMessage(o.b, m)
	switch {
	case len(o.b) >= flushSize:
		o.flush()
	case o.armed:
	case o.timer == nil:
		o.armed = true
		o.timer = time.AfterFunc(flushDelay, o.expire)
	default:
		o.armed = true
		o.timer.Reset(flushDelay)
	}
	return o.err
}

func (o *outlet) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.armed = false
	o.flush()
}

// flush writes. The caller holds mu.
func (o *outlet) flush() {
	if len(o.b) > 0 && o.err == nil {
		_, o.err = o.w.Write(o.b)
	}
	o.b = kept(o.b)
}

var errReturned = errors.New("worker: Send after Handle has returned: the answer belongs to no request")

// sender is the Sender of one request.
type sender struct {
	*outlet
	returned bool
}

// Send implements ferry.Sender.
func (s *sender) Send(ctx context.Context, m ferry.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := check(&m, s.max); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.returned {
		return errReturned
	}
	return s.answer(&m)
}

func (s *sender) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returned = true
}
