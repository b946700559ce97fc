package accept

import (
	"container/list"
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// ErrSlow is the cause with which a handshake is canceled because its peer was silent while another connection waited.
var ErrSlow = errors.New("the client was silent during its handshake while others waited")

// patience is how long a handshake may take, from the first time that it waits for its peer, if others wait for its place. While far more
// handshakes are ended than succeed, it is a quarter of that, and then a sixteenth.
const patience = time.Second

// handshakes bounds the handshakes in progress. Further connections wait in the listening socket: clients that connect at one time are
// served one after another. So that clients that stop in the middle of their handshakes cannot keep others out, a handshake is ended that
// waits for its peer, and has done so first more than patience ago. One that computes is not.
type handshakes struct {
	limit int
	ended chan struct{} // holds an element after a handshake has ended

	mu      sync.Mutex
	running list.List // values are *shaking, the oldest first
	silent  int       // handshakes that were ended because of silence, less those that have succeeded; 0 to 3*limit
}

func newHandshakes(limit int) *handshakes {
	return &handshakes{limit: max(limit, 1), ended: make(chan struct{}, 1)}
}

// room waits until another handshake may begin, and ends a slow one if there are too many. It returns false if ctx ends first. Only one
// goroutine calls it.
func (h *handshakes) room(ctx context.Context) bool {
	for {
		again, full := h.endSlow(time.Now())
		if !full {
			return true
		}
		timer := time.NewTimer(again)
		select {
		case <-h.ended:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return false
		}
	}
}

// endSlow reports whether there are as many handshakes as there may be. If so, it ends the oldest slow one; if none is slow, it returns
// when to look again.
func (h *handshakes) endSlow(now time.Time) (again time.Duration, full bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running.Len() < h.limit {
		return 0, false
	}
	longest := h.longest()
	again = longest
	for e := h.running.Front(); e != nil; e = e.Next() {
		s := e.Value.(*shaking)
		since, waits := s.waits()
		age := now.Sub(since)
		switch {
		case since.IsZero():
		case age < longest:
			again = min(again, longest-age)
		case waits:
			s.cancel(ErrSlow)
			h.running.Remove(e)
			h.silent = min(h.silent+1, 3*h.limit)
			return 0, false
		default: // it computes, and may wait for its peer again soon
			again = min(again, longest/10)
		}
	}
	return again, true
}

// longest returns how long a handshake may be silent now. Many silent clients would fill the listening socket if it were always patience. The
// caller holds the lock.
func (h *handshakes) longest() time.Duration {
	switch {
	case h.silent > 2*h.limit:
		return patience / 16
	case h.silent > h.limit:
		return patience / 4
	}
	return patience
}

// start adds conn. Its handshake uses s, must stop when ctx ends, and must call done at the end.
func (h *handshakes) start(parent context.Context, timeout time.Duration, conn net.Conn) (ctx context.Context, s *shaking, done func(succeeded bool)) {
	parent, cancel := context.WithCancelCause(parent)
	ctx, stop := context.WithTimeout(parent, timeout)
	s = &shaking{Conn: conn, cancel: cancel}
	h.mu.Lock()
	place := h.running.PushBack(s)
	h.mu.Unlock()
	return ctx, s, func(succeeded bool) {
		s.over.Store(true)
		h.mu.Lock()
		if succeeded {
			h.silent = max(h.silent-1, 0)
		}
		h.running.Remove(place) // no effect if endSlow has removed it
		h.mu.Unlock()
		select {
		case h.ended <- struct{}{}:
		default:
		}
		stop()
		cancel(nil)
	}
}
