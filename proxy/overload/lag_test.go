package overload

import (
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeLoop runs posted functions when the test says so.
type fakeLoop struct {
	mu     sync.Mutex
	posted []func()
	err    error // Post returns it; nil if the mailbox has room
}

func (l *fakeLoop) Post(f func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	l.posted = append(l.posted, f)
	return nil
}

func (l *fakeLoop) turn() {
	l.mu.Lock()
	posted := l.posted
	l.posted = nil
	l.mu.Unlock()
	for _, f := range posted {
		f()
	}
}

// TestLag: turns of a certain length. The result is the delay that all turns of the last second had.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy, idle := &fakeLoop{}, &fakeLoop{}
		l := newLag([]Poster{idle, busy})
		run := func(turn time.Duration, turns int) (last time.Duration) {
			for range turns {
				for end := time.Now().Add(turn); time.Now().Before(end); {
					time.Sleep(min(50*time.Millisecond, time.Until(end)))
					idle.turn()
					last = l.measure()
				}
				busy.turn()
			}
			return last
		}
		if got := run(time.Millisecond, 3000); got > 10*time.Millisecond {
			t.Errorf("short turns: %v", got)
		}
		if got := run(900*time.Millisecond, 1); got > 10*time.Millisecond {
			t.Errorf("one long turn: %v", got)
		}
		run(time.Millisecond, 3000)
		// Delays of a function that is posted during the turn are between nothing and a turn.
		if got := run(3*time.Second, 3); got < 500*time.Millisecond || got > 3*time.Second {
			t.Errorf("long turns: %v", got)
		}
		if got := run(time.Millisecond, 3000); got > 10*time.Millisecond {
			t.Errorf("short turns again: %v", got)
		}
		busy.err = errors.New("full")
		if got := run(time.Millisecond, 3000); got < time.Second || got > 3*time.Second {
			t.Errorf("a full mailbox: %v", got)
		}
		busy.err = nil
		if got := run(time.Millisecond, 3000); got > 10*time.Millisecond {
			t.Errorf("a mailbox with room again: %v", got)
		}
		busy.err = net.ErrClosed
		if got := run(time.Millisecond, 3000); got > 10*time.Millisecond {
			t.Errorf("a loop that has ended: %v", got)
		}
	})
}
