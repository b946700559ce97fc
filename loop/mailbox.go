package loop

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
)

// ErrBusy means that a loop's mailbox is full.
var ErrBusy = errors.New("loop: mailbox is full: post less, wait with PostWait, or raise Config.Mailbox")

// mailbox holds the functions that goroutines post to a loop. The loop runs the functions in order.
type mailbox struct {
	mu     sync.Mutex
	posted []func()
	room   chan struct{} // closed when there is room again; nil while no PostWait waits
	closed bool
	asleep atomic.Bool // the loop waits for events, or is about to: post must wake it
	spare  []func()    // used by the loop only; take swaps it with posted
}

// Post makes the loop call f, after all functions posted before. It never waits. It returns ErrBusy if the mailbox is full,
// and net.ErrClosed if the loop has ended. Any goroutine may call it, on a loop too.
func (l *Loop) Post(f func()) error { return l.post(f, l.cfg.Mailbox) }

// PostWait is Post, but waits while the mailbox is full, until ctx ends. Code on a loop must not call it.
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
	// While the lock is held, the loop cannot end and close its descriptors.
	if m.asleep.CompareAndSwap(true, false) {
		l.sys.wake()
	}
	m.mu.Unlock()
	return nil
}

// take returns the functions posted so far. The slice is valid until the next call.
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

// close makes the mailbox refuse further functions, and returns those still queued.
func (m *mailbox) close() []func() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	return m.take()
}

// sleep notes that the loop is about to wait for events. It returns false if functions are queued: the loop must not wait
// then.
func (m *mailbox) sleep() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asleep.Store(len(m.posted) == 0)
	return len(m.posted) == 0
}
