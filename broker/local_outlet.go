package broker

import (
	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/broker/internal/ranks"
)

// Message is a message that a Local publishes or receives.
type Message = outlet.Message

// Run is messages of one subscription, in order. It is valid during LocalHandler.Deliver.
type Run = outlet.Run

// localOutlet passes messages to the handler of a Local. A Local has one stream, so its lock is that of all queues of the client.
type localOutlet struct {
	mu          ranks.Mutex[ranks.Local]
	handler     LocalHandler
	full        bool // the handler has taken fewer messages than it was given, and Resume was not called since
	closed      bool
	delivered   bool // Deliver was called, and Flush was not since
	roomChanged chan struct{}
}

var _ outlet.Client = (*localOutlet)(nil)

// Lock locks the outlet.
func (o *localOutlet) Lock() { o.mu.Lock() }

// Unlock unlocks the outlet and calls Flush of the handler, if messages were delivered.
func (o *localOutlet) Unlock() {
	flush := o.delivered && !o.closed
	o.delivered = false
	o.mu.Unlock()
	if flush {
		o.handler.Flush()
	}
}

// UnlockLater unlocks the outlet. Flush follows.
func (o *localOutlet) UnlockLater() { o.mu.Unlock() }

// Flush calls Flush of the handler, if messages were delivered.
func (o *localOutlet) Flush() {
	o.mu.Lock()
	o.Unlock()
}

// Nudge does nothing: queues wait for Resume only.
func (o *localOutlet) Nudge() {}

// Room is positive unless the handler has no room.
func (o *localOutlet) Room() int {
	if o.full {
		return 0
	}
	return 1
}

// WaitRoom returns a channel that is closed when there is room again or the client has ended.
func (o *localOutlet) WaitRoom() <-chan struct{} {
	if o.roomChanged == nil {
		o.roomChanged = make(chan struct{})
	}
	return o.roomChanged
}

// Closed reports whether the client has ended.
func (o *localOutlet) Closed() bool { return o.closed }

// Deliver passes messages to the handler.
func (o *localOutlet) Deliver(handle any, run *Run) (taken int) {
	n := run.Len()
	if o.closed {
		return n
	}
	o.delivered = true
	taken = max(min(o.handler.Deliver(handle.(*LocalSub), run), n), 0) //nolint:forcetypeassert // Subscribe has set it
	o.full = taken < n
	return taken
}
