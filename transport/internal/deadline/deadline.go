// Package deadline has the deadlines of a net.Conn whose Read or Write waits on channels.
//
//	for {
//		expired, moved := d.Channels()
//		select {
//		case <-filled:
//		case <-expired: // os.ErrDeadlineExceeded
//		case <-moved: // look again
//		}
//	}
package deadline

import (
	"sync"
	"time"
)

// Deadline is a point in time. It can be moved while a Read or Write waits for it. The zero value is a deadline that is never
// reached. All methods may overlap.
type Deadline struct {
	mu      sync.Mutex
	timer   *time.Timer
	expired chan struct{} // closed when the deadline is reached
	change  chan struct{} // closed when the deadline is moved
}

// Set moves the deadline to t. The zero time means never.
func (d *Deadline) Set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if d.change != nil {
		close(d.change)
	}
	d.renew()
	expired := d.expired
	switch wait := time.Until(t); {
	case t.IsZero():
	case wait <= 0:
		close(expired)
	default:
		d.timer = time.AfterFunc(wait, func() { close(expired) })
	}
}

// Channels returns two channels: expired is closed when the deadline is reached, moved when the deadline is moved.
func (d *Deadline) Channels() (expired, moved <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.expired == nil {
		d.renew()
	}
	return d.expired, d.change
}

// Expired reports whether the deadline is reached.
func (d *Deadline) Expired() bool {
	expired, _ := d.Channels()
	select {
	case <-expired:
		return true
	default:
		return false
	}
}

func (d *Deadline) renew() { d.expired, d.change = make(chan struct{}), make(chan struct{}) }
