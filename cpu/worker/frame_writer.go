package worker

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"example.com/ferry"
)

// Most handlers return right after their response. So a response is delayed for a moment, to be written together with
// the END.
const (
	flushDelay = 200 * time.Microsecond
	flushSize  = 32 << 10 // queued bytes that are written without delay
)

// frameWriter writes frames to the parent. It combines frames that follow each other quickly.
type frameWriter struct {
	w   io.Writer
	max int // largest payload in bytes

	mu    sync.Mutex
	b     []byte
	err   error // error of a write; the parent has gone
	timer *time.Timer
	armed bool
}

// end writes the END of a request before the next request begins. So if the process dies, the parent knows which
// request it was handling.
func (o *frameWriter) end(number uint64, s status, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b = appendEnd(o.b, number, s, text)
	o.flush()
}

// respond appends a response, which is written after flushDelay at the latest. The caller holds mu.
func (o *frameWriter) respond(m *ferry.Message) error {
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

func (o *frameWriter) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.armed = false
	o.flush()
}

// flush writes the queued frames. The caller holds mu.
func (o *frameWriter) flush() {
	if len(o.b) > 0 && o.err == nil {
		_, o.err = o.w.Write(o.b)
	}
	o.b = reusable(o.b)
}

var errReturned = errors.New("worker: Send after Handle has returned: the response belongs to no request")

// sender is the Sender of one request.
type sender struct {
	*frameWriter
	returned bool
}

// Send implements ferry.Sender.
func (s *sender) Send(ctx context.Context, m ferry.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := checkSize(&m, s.max); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.returned {
		return errReturned
	}
	return s.respond(&m)
}

func (s *sender) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returned = true
}
