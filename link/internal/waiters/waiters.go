// Package waiters holds the calls that wait for a broker.Forwarder: until messages are safe, and until there is room for further ones.
package waiters

import (
	"time"

	"example.com/ferry/internal/peer"
)

// Waiters holds the calls of Await and AwaitRoom of one broker.Forwarder, whose lock guards it. The zero value is ready to use.
type Waiters struct {
	safe  peer.FIFO[waiter]
	rooms map[*room]bool
}

// waiter is a call of Await.
type waiter struct {
	position uint64
	since    time.Time
	done     func()
}

// room is a call of AwaitRoom.
type room struct{ resume func() }

// Await adds a call that is due once the position is safe. Positions of later calls are not less.
func (w *Waiters) Await(position uint64, done func()) {
	w.safe.Push(waiter{position, time.Now(), done})
}

// Oldest returns when the oldest call of Await was made that is not due. ok is false if there is none.
func (w *Waiters) Oldest() (since time.Time, ok bool) {
	if w.safe.Len() == 0 {
		return time.Time{}, false
	}
	return w.safe.Front().since, true
}

// AwaitRoom adds a call that is due once there is room. remove releases it, and needs the same lock.
func (w *Waiters) AwaitRoom(resume func()) (remove func()) {
	r := &room{resume}
	if w.rooms == nil {
		w.rooms = map[*room]bool{}
	}
	w.rooms[r] = true
	return func() { delete(w.rooms, r) }
}

// Due removes and returns the calls that are due: those of Await for positions up to safe, in order, and those of AwaitRoom if there is
// room. The caller calls them once it has released its lock.
func (w *Waiters) Due(safe uint64, room bool) (due []func()) {
	for w.safe.Len() > 0 && w.safe.Front().position <= safe {
		due = append(due, w.safe.Pop().done)
	}
	if room && len(w.rooms) > 0 {
		for r := range w.rooms {
			due = append(due, r.resume)
		}
		clear(w.rooms)
	}
	return due
}
