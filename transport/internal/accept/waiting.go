package accept

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// ErrEvicted is the cause of a context that Start cancelled to make room.
var ErrEvicted = errors.New("too many connections are in their handshake, and this is the oldest")

// Waiting bounds the connections that have not completed their handshake. A new one evicts the oldest, so that silent clients
// do not keep others out until they time out. All its methods may overlap.
type Waiting struct {
	limit int

	mu      sync.Mutex
	cancels list.List // of context.CancelCauseFunc, the oldest first
}

// NewWaiting returns a Waiting for at most limit connections.
func NewWaiting(limit int) *Waiting { return &Waiting{limit: max(limit, 1)} }

// Start adds a connection. Its handshake must end with ctx, and call done.
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
		w.cancels.Remove(place) // no effect after an eviction
		w.mu.Unlock()
		stop()
		cancel(nil)
	}
}
