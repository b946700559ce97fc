package h2conn

import (
	"fmt"
	"time"
)

const (
	checkInterval = time.Second     // while there is something to check
	pingBackoff   = 4               // factor between the pauses of two PINGs while streams are silent
	maxPingPause  = 6 * time.Minute // grpc-go allows a PING every 5 minutes
)

// checks is what the timer of a connection looks at: once a second while a stream is open or something is overdue, otherwise only
// at the end of IdleTimeout. An idle connection has no timer then.
type checks struct {
	timer *time.Timer // nil before Serve and after the end
	armed bool        // the timer runs each second

	reads    uint64 // number of reads
	received uint64 // number of heads and pieces of DATA

	// The values at the last check.
	lastReads, lastReceived, lastOpened uint64

	readAt       time.Time     // time of the first check that saw the last read
	pingAt       time.Time     // time of the PING that nothing was read after; zero if there is none
	pause        time.Duration // time without a read until the next PING
	pendingSince time.Time     // time since when the peer owes the rest of a head, or its SETTINGS; zero if it does not
	idleSince    time.Time     // time since when there is no stream

	drainBy     time.Time // time of the final GOAWAY, in the state announced
	drainPinged bool      // PING was sent in the state announced
}

// begin starts the checks.
func (c *Conn) begin(now time.Time) {
	select {
	case <-c.closing:
		return
	default:
	}
	c.idleSince, c.pendingSince = now, now
	c.timer = time.AfterFunc(checkInterval, c.check)
	c.arm(now)
}

// stopChecks stops the timer for good.
func (c *Conn) stopChecks() {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}

// needsChecks reports whether the timer must run.
func (c *Conn) needsChecks() bool {
	return c.state == announced || !c.http2.Idle() || !c.http2.PeerReady() || c.http2.HeaderPending()
}

// arm lets the timer run each second.
func (c *Conn) arm(now time.Time) {
	if c.timer == nil {
		return
	}
	c.armed = true
	c.readAt, c.pingAt, c.pause = now, time.Time{}, c.cfg.KeepAlive
	c.timer.Reset(checkInterval)
}

// check is the function of the timer.
func (c *Conn) check() {
	now := time.Now()
	c.Lock()
	if c.timer == nil {
		c.writer.Unlock()
		return
	}
	c.http2.Tick()
	if t, ok := c.user.(Ticker); ok {
		t.Tick(now)
	}
	if err := c.overdue(now); err != nil {
		c.Close(err)
	}
	if c.state == announced && now.After(c.drainBy) {
		c.finalGoAway() // the client does not acknowledge PING
	}
	idle := c.idleFor(now)
	if c.cfg.IdleTimeout > 0 && idle >= c.cfg.IdleTimeout {
		c.drain(now)
	}
	switch {
	case c.needsChecks() || c.writer.Blocked(now) > 0:
		c.armed = true
		c.timer.Reset(checkInterval)
	default:
		c.armed = false
		if c.cfg.IdleTimeout > idle {
			c.timer.Reset(c.cfg.IdleTimeout - idle)
		}
	}
	c.unlock(0)
}

// overdue returns an error if the peer takes too long.
func (c *Conn) overdue(now time.Time) error {
	if d := c.cfg.WriteTimeout; d > 0 && c.writer.Blocked(now) > d {
		return fmt.Errorf("http2: the peer reads nothing: a write has not ended within %v", d)
	}
	if d := c.cfg.HeaderTimeout; d > 0 && c.pendingFor(now) > d {
		return fmt.Errorf("http2: the peer has not completed its preface, its SETTINGS or a head within %v", d)
	}
	received := c.received != c.lastReceived
	c.lastReceived = c.received
	if c.reads != c.lastReads {
		if !c.pingAt.IsZero() {
			c.pause = min(c.pause*pingBackoff, max(maxPingPause, c.cfg.KeepAlive))
		}
		c.lastReads, c.readAt, c.pingAt = c.reads, now, time.Time{}
	}
	if received {
		c.pause = c.cfg.KeepAlive
	}
	switch {
	case c.cfg.KeepAlive < 0 || c.http2.Streams() == 0 && c.pingAt.IsZero():
	case !c.pingAt.IsZero():
		if now.Sub(c.pingAt) >= c.cfg.KeepAliveTimeout {
			return fmt.Errorf("http2: the peer has not acknowledged PING within %v", c.cfg.KeepAliveTimeout)
		}
	case now.Sub(c.readAt) >= c.pause:
		c.http2.Ping()
		c.pingAt = now
	}
	return nil
}

// pendingFor returns for how long the same part of a head has waited for the rest, or the peer's SETTINGS are missing. No head can
// arrive meanwhile. overdue notes received afterwards.
func (c *Conn) pendingFor(now time.Time) time.Duration {
	switch {
	case !c.http2.HeaderPending() && c.http2.PeerReady():
		c.pendingSince = time.Time{}
	case c.pendingSince.IsZero() || c.received != c.lastReceived:
		c.pendingSince = now
	}
	if c.pendingSince.IsZero() {
		return 0
	}
	return now.Sub(c.pendingSince)
}

// idleFor returns for how long there has been no stream, as far as checks saw it.
func (c *Conn) idleFor(now time.Time) time.Duration {
	if opened := c.http2.Stats().StreamsOpened; c.http2.Streams() > 0 || opened != c.lastOpened {
		c.lastOpened, c.idleSince = opened, now
	}
	return now.Sub(c.idleSince)
}
