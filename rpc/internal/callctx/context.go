package callctx

import (
	"context"
	"sync"
	"time"
)

// Context ends with End, or when its deadline passes. All methods may overlap. It has no values. A handler may keep it after the call,
// so it is never reused.
type Context struct {
	deadline time.Time // zero means none

	mu    sync.Mutex
	err   error         // set once
	done  chan struct{} // nil until Done is called
	timer *time.Timer   // nil until something waits for the end
	funcs map[*func()]struct{}
}

var _ context.Context = (*Context)(nil)

// New returns the context of a call. A zero deadline means none.
func New(deadline time.Time) *Context { return &Context{deadline: deadline} }

// Deadline returns the deadline of the call.
func (c *Context) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// Value returns nil.
func (c *Context) Value(any) any { return nil }

// Done returns a channel that is closed at the end.
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		} else {
			c.startTimer()
		}
	}
	return c.done
}

// Err returns nil before the end, and then the reason: context.Canceled or context.DeadlineExceeded.
func (c *Context) Err() error {
	c.mu.Lock()
	err := c.err
	c.mu.Unlock()
	if err == nil && !c.deadline.IsZero() && !time.Now().Before(c.deadline) {
		c.End(context.DeadlineExceeded)
		return context.DeadlineExceeded
	}
	return err
}

// End ends the context for the reason err, unless it has ended.
func (c *Context) End(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	funcs := c.funcs
	c.funcs = nil
	c.mu.Unlock()
	for f := range funcs {
		go (*f)()
	}
}

// AfterFunc calls f on a goroutine of its own after the end. stop prevents the call, and reports whether it did. Package context finds
// this method: a context derived from c needs no goroutine that waits for c.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.funcs == nil {
		c.funcs = make(map[*func()]struct{})
	}
	key := &f
	c.funcs[key] = struct{}{}
	c.startTimer()
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.funcs[key]
		delete(c.funcs, key)
		return waiting
	}
}

// startTimer lets the deadline end the context. It needs the lock.
func (c *Context) startTimer() {
	if c.timer == nil && !c.deadline.IsZero() {
		c.timer = time.AfterFunc(time.Until(c.deadline), func() { c.End(context.DeadlineExceeded) })
	}
}
