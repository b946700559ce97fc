package native

import (
	"context"
	"slices"
	"time"

	"example.com/ferry/rpc/call"
)

// waiter is a call that waits for a slot and for credit.
type waiter struct {
	bytes   int // 0 for a stream, which has a window of its own
	granted bool
	refused bool
	ready   chan struct{} // closed when granted or refused
}

// wait is how long a call waits for something: until its context ends, or the deadline passes.
type wait struct {
	ctx context.Context
	at  time.Time // zero if ctx has the deadline, or there is none

	call *outgoing // of the message that is sent; nil on the called end
}

// on waits until ch is closed. The error is a *call.Status.
func (w wait) on(ch <-chan struct{}) error {
	var expired <-chan time.Time
	if !w.at.IsZero() {
		timer := time.NewTimer(time.Until(w.at))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-ch:
		return nil
	case <-w.ctx.Done():
		return contextStatus(w.ctx)
	case <-expired:
		return deadlinePassed()
	}
}

// contextStatus returns the status of a call whose context has ended. Its message is the cause's. The cause decides about the code
// only if it is a *call.Status or an error of package context.
func contextStatus(ctx context.Context) *call.Status {
	s := call.StatusOf(context.Cause(ctx))
	if s.Code == call.Unknown {
		s.Code = call.StatusOf(ctx.Err()).Code
	}
	return s
}

// acquire takes a slot, and bytes of the peer's window, for a call that begins. It waits until they are there. The error is a
// *call.Status.
func (s *session) acquire(until wait, bytes int) error {
	s.mu.Lock()
	switch {
	case s.leaving:
		defer s.mu.Unlock()
		return s.lostStatusLocked()
	case s.theirs.Calls == 0:
		s.mu.Unlock()
		return &call.Status{Code: call.Unimplemented, Message: "the other end serves no calls"}
	case len(s.waiting) == 0 && s.mayBegin(bytes):
		s.slots--
		s.credit -= bytes
		s.mu.Unlock()
		return nil
	}
	w := &waiter{bytes: bytes, ready: make(chan struct{})}
	s.waiting = append(s.waiting, w)
	s.mu.Unlock()
	err := until.on(w.ready)
	if err == nil {
		if w.granted {
			return nil
		}
		return s.lostStatus()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case w.granted:
		s.release(bytes)
	case !w.refused:
		s.waiting = slices.DeleteFunc(s.waiting, func(other *waiter) bool { return other == w })
		s.grant()
	}
	return err
}

// mayBegin reports whether a call with a request of this many bytes may begin. A call with a window of its own passes 0.
func (s *session) mayBegin(bytes int) bool { return s.slots > 0 && (s.credit > 0 || bytes == 0) }

// release returns what acquire took. It is called under the lock.
func (s *session) release(bytes int) {
	s.slots++
	s.credit += bytes
	s.grant()
}

// grant lets calls begin that wait, in order. If this end makes no further call, it refuses all. It is called under the lock.
func (s *session) grant() {
	for len(s.waiting) > 0 && (s.leaving || s.mayBegin(s.waiting[0].bytes)) {
		w := s.waiting[0]
		s.waiting[0], s.waiting = nil, s.waiting[1:]
		if s.leaving {
			w.refused = true
		} else {
			w.granted = true
			s.slots--
			s.credit -= w.bytes
		}
		close(w.ready)
	}
}

// signal wakes all goroutines that wait for a change. The session's lock guards it.
type signal struct{ ch chan struct{} }

// wait returns a channel that is closed at the next fire.
func (g *signal) wait() <-chan struct{} {
	if g.ch == nil {
		g.ch = make(chan struct{})
	}
	return g.ch
}

func (g *signal) fire() {
	if g.ch != nil {
		close(g.ch)
		g.ch = nil
	}
}

// window is the credit of a stream of messages. The session's lock guards it.
type window struct {
	left   int
	closed bool // no further message is sent
	news   signal
}

func (w *window) add(n int) {
	w.left += min(n, maxLimit-w.left) // an int may have 32 bits
	w.news.fire()
}

func (w *window) close() {
	w.closed = true
	w.news.fire()
}

// take waits for credit and takes the length of a message. ended is set if the window is closed. The error is a *call.Status.
func (s *session) take(until wait, w *window, bytes int) (ended bool, err error) {
	for {
		s.mu.Lock()
		switch {
		case w.closed:
			s.mu.Unlock()
			return true, nil
		case w.left > 0:
			w.left -= bytes
			s.mu.Unlock()
			return false, nil
		}
		wake := w.news.wait()
		s.mu.Unlock()
		if err := until.on(wake); err != nil {
			return false, err
		}
	}
}
