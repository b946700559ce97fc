package memory

import (
	"sync"
	"time"
)

// deadline is a point in time. It can be moved while a Read or Write waits for it.
type deadline struct {
	mu      sync.Mutex
	timer   *time.Timer
	expired chan struct{} // closed when the deadline is reached
	change  chan struct{} // closed when the deadline is moved
}

func (d *deadline) init() {
	d.expired, d.change = make(chan struct{}), make(chan struct{})
}

// set moves the deadline to t; the zero time means never.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	close(d.change)
	d.init()
	expired := d.expired
	switch wait := time.Until(t); {
	case t.IsZero():
	case wait <= 0:
		close(expired)
	default:
		d.timer = time.AfterFunc(wait, func() { close(expired) })
	}
}

// channels returns two channels: expired is closed when the deadline is reached, moved when the deadline is moved.
func (d *deadline) channels() (expired, moved <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.expired, d.change
}
