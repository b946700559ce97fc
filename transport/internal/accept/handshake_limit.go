package accept

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// ErrEvicted is the cause with which Start cancels the context of the oldest connection to make room.
var ErrEvicted = errors.New("too many connections are in their handshake, and this is the oldest")

// Waiting bounds the connections whose handshake is not complete. A new connection evicts the oldest, so that silent clients
// cannot block other clients until the timeout. All methods may overlap.
type Waiting struct {
	limit int

	mu      sync.Mutex
	cancels list.List // values are context.CancelCauseFunc, the oldest first
}

// NewWaiting returns a Waiting for at most limit connections.
func NewWaiting(limit int) *Waiting { return &Waiting{limit: max(limit, 1)} }

// Start adds a connection. Its handshake must stop when ctx ends, and must call done at the end.
func (w *Waiting) Start(parent context.Context, timeout time.Duration) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(parent)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancels.Len() >= w.limit {
		evict := w.cancels.Remove(w.cancels.Front()).(context.CancelCauseFunc)
		evict(ErrEvicted)
	}
	place := w.cancels.PushBack(cancel)
	ctx, stop := context.WithTimeout(ctx, timeout)
	return ctx, func() {
		w.mu.Lock()
		w.cancels.Remove(place) // no effect if the connection was evicted
		w.mu.Unlock()
		stop()
		cancel(nil)
	}
}
