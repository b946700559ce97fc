package peer

import (
	"context"
	"fmt"
	"time"

	"example.com/ferry/protocol/native"
)

// Limits bounds how long a connection may make no progress. Zero means no bound.
type Limits struct {
	Silence   time.Duration // longest time without a byte on any stream
	HalfFrame time.Duration // longest time without a byte after part of a frame
	Write     time.Duration // longest time for one write
}

// progress is the state of one stream at the last Check.
type progress struct {
	reads   uint64
	since   time.Time // time when reads last changed
	partial time.Time // time since when part of a frame has waited for the rest; zero if there is none
}

func (c *Conn) watch(in *FrameReader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.progress == nil {
		c.progress = map[*FrameReader]*progress{}
	}
	c.progress[in] = &progress{since: time.Now()}
}

func (c *Conn) unwatch(in *FrameReader) {
	c.mu.Lock()
	delete(c.progress, in)
	c.mu.Unlock()
	in.Close()
}

// Check closes a connection that exceeds the limits. Call it several times within the shortest limit.
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

// Beat sends a PING each heartbeat. It closes the connection after three heartbeats without a byte from the peer. It
// returns when the connection ends.
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

// Barrier waits until the peer has handled all frames appended earlier, on every stream.
func (c *Conn) Barrier(ctx context.Context) error {
	var passed []chan struct{}
	for _, w := range c.Writers() {
		ch := make(chan struct{})
		c.mu.Lock()
		c.lastPing++
		v := c.lastPing
		if c.barriers == nil {
			c.barriers = map[uint64]chan struct{}{}
		}
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

// passBarrier ends the Barrier whose PING has value v, if there is one.
func (c *Conn) passBarrier(v uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.barriers[v]; ch != nil {
		close(ch)
		delete(c.barriers, v)
	}
}
