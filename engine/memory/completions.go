package memory

import (
	"context"
	"sync"
	"sync/atomic"
)

// completions calls the done functions of Append in the order of the calls. Its goroutine runs only while there are calls to
// make.
type completions struct {
	mu      sync.Mutex
	waiting []completion
	spare   []completion // emptied, for reuse as waiting
	running bool

	goroutine func() // c.run; a stored func value starts a goroutine without an allocation
}

// completion is one call of a done function.
type completion struct {
	done    func(error)
	err     error
	pending *atomic.Int64 // may be nil
	bytes   int64         // to subtract from pending
}

func (c *completions) init() { c.goroutine = c.run }

// add appends a call. The caller orders the calls of add with a lock.
func (c *completions) add(call completion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, call)
	if !c.running {
		c.running = true
		go c.goroutine()
	}
}

func (c *completions) run() {
	for {
		c.mu.Lock()
		calls := c.waiting
		c.waiting, c.spare = c.spare[:0], nil
		if len(calls) == 0 {
			c.spare, c.running = calls, false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		for i := range calls {
			if calls[i].pending != nil {
				calls[i].pending.Add(-calls[i].bytes)
			}
			calls[i].done(calls[i].err)
		}
		clear(calls)
		c.mu.Lock()
		c.spare = calls
		c.mu.Unlock()
	}
}

// wait returns when all calls added before are made, or ctx ends.
func (c *completions) wait(ctx context.Context) error {
	made := make(chan struct{})
	c.add(completion{done: func(error) { close(made) }})
	select {
	case <-made:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
