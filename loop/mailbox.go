package loop

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
)

// ErrBusy says that a loop's mailbox is full.
var ErrBusy = errors.New("loop: mailbox is full: post less, wait with PostWait, or raise Config.Mailbox")

// mailbox is how goroutines reach a loop: functions, run in the order they came.
type mailbox struct {
	mu     sync.Mutex
	posted []func()
	room   chan struct{} // closed when there is room again; nil while nobody waits
	closed bool
	asleep atomic.Bool // the loop waits, or is about to, and wants to be woken
	spare  []func()    // the loop's own: what posted is swapped with
}

// Post has the loop call f, after all that was posted before. It never waits: a full mailbox is ErrBusy, a loop that has
// ended net.ErrClosed. Any goroutine may call it, and any loop.
func (l *Loop) Post(f func()) error { return l.post(f, l.cfg.Mailbox) }

// PostWait is Post, but waits while the mailbox is full, until ctx ends. It is for goroutines: a loop must not wait.
func (l *Loop) PostWait(ctx context.Context, f func()) error {
	for {
		err := l.Post(f)
		if !errors.Is(err, ErrBusy) {
			return err
		}
		m := &l.mail
		m.mu.Lock()
		if len(m.posted) < l.cfg.Mailbox || m.closed {
			m.mu.Unlock()
			continue
		}
		if m.room == nil {
			m.room = make(chan struct{})
		}
		room := m.room
		m.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *Loop) post(f func(), limit int) error {
	m := &l.mail
	m.mu.Lock()
	switch {
	case m.closed:
		m.mu.Unlock()
		return net.ErrClosed
	case len(m.posted) >= limit:
		m.mu.Unlock()
		return ErrBusy
	}
	m.posted = append(m.posted, f)
	// Woken under the lock, so that the loop can't have ended and given its descriptors back.
	if m.asleep.CompareAndSwap(true, false) {
		l.sys.wake()
	}
	m.mu.Unlock()
	return nil
}

// take returns what was posted so far. The slice is valid until the next call.
func (m *mailbox) take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.posted
	m.posted, m.spare = m.spare[:0], taken
	if m.room != nil {
		close(m.room)
		m.room = nil
	}
	return taken
}

// close refuses what is posted from now on and returns what still waits.
func (m *mailbox) close() []func() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	return m.take()
}

// sleep says that the loop is going to wait. It returns false if there is something to do first.
func (m *mailbox) sleep() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asleep.Store(len(m.posted) == 0)
	return len(m.posted) == 0
}
