package peer

import (
	"context"
	"fmt"
	"time"

	"example.com/ferry/protocol/native"
)

// Limits bounds how long a connection may stand still. Zero means no bound.
type Limits struct {
	Silence   time.Duration // without a byte on any stream
	HalfFrame time.Duration // with part of a frame, and no more of it
	Write     time.Duration // for one write
}

// progress is the state of a stream at the last Check.
type progress struct {
	reads   uint64
	since   time.Time // when reads changed
	partial time.Time // since when part of a frame waits for its rest; zero if none does
}

func (c *Conn) watch(in *FrameReader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress[in] = &progress{since: time.Now()}
}

func (c *Conn) unwatch(in *FrameReader) {
	c.mu.Lock()
	delete(c.progress, in)
	c.mu.Unlock()
	in.Close()
}

// Check closes a connection that stands still for longer than the limits. It is called several times in the shortest limit.
func (c *Conn) Check(now time.Time, limits Limits) {
	c.mu.Lock()
	silence, half := time.Duration(-1), time.Duration(0)
	for in, p := range c.progress {
		reads, partial := in.Progress()
		switch {
		case reads != p.reads:
			p.reads, p.since, p.partial = reads, now, time.Time{}
		case partial && p.partial.IsZero():
			p.partial = now
		}
		if quiet := now.Sub(p.since); silence < 0 || quiet < silence {
			silence = quiet
		}
		if partial && !p.partial.IsZero() {
			half = max(half, now.Sub(p.partial))
		}
	}
	c.mu.Unlock()
	write := time.Duration(0)
	for _, w := range c.Writers() {
		write = max(write, w.Blocked(now))
	}
	exceeds := func(d, limit time.Duration) bool { return limit > 0 && d > limit }
	switch {
	case exceeds(silence, limits.Silence):
		c.timeOut("nothing was heard of the %s for %v", c.cfg.Remote, limits.Silence)
	case exceeds(half, limits.HalfFrame):
		c.timeOut("half a frame, and nothing more for %v", limits.HalfFrame)
	case exceeds(write, limits.Write):
		c.timeOut("the %s has read nothing for %v", c.cfg.Remote, limits.Write)
	}
}

func (c *Conn) timeOut(format string, args ...any) {
	c.Close(&native.Error{Code: native.CodeTimeout, Reason: fmt.Sprintf(format, args...)})
}

// Beat sends a PING each heartbeat, and closes the connection after three without a byte from the peer. It returns when the
// connection ends.
func (c *Conn) Beat(heartbeat time.Duration) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case now := <-tick.C:
			c.Check(now, Limits{Silence: 3 * heartbeat})
			c.Tell(func(b []byte) []byte { return native.AppendPing(b, false, 0) })
		}
	}
}

// Barrier waits until the peer has handled everything that was appended before, on every stream.
func (c *Conn) Barrier(ctx context.Context) error {
	var passed []chan struct{}
	for _, w := range c.Writers() {
		ch := make(chan struct{})
		c.mu.Lock()
		c.lastPing++
		v := c.lastPing
		c.barriers[v] = ch
		c.mu.Unlock()
		defer c.passBarrier(v)
		passed = append(passed, ch)
		w.Lock()
		if !w.Closed() {
			w.SetTail(native.AppendPing(w.Tail(native.HeaderSize+8), false, v))
		}
		w.Unlock()
	}
	for _, ch := range passed {
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.ctx.Done():
			return fmt.Errorf("the connection was lost before the %s confirmed what was sent: %w", c.cfg.Remote, c.Err())
		}
	}
	return nil
}

// passBarrier ends the wait for the answer to the PING with value v, if there is one.
func (c *Conn) passBarrier(v uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.barriers[v]; ch != nil {
		close(ch)
		delete(c.barriers, v)
	}
}
