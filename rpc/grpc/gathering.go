package grpc

import (
	"time"

	"example.com/ferry/rpc/call"
)

// gathering has the calls of a connection whose handlers wait for the rest of the request, oldest first. A timer ends those that wait
// for too long: without it, a client could keep what it has sent in memory. The lock of the connection guards it.
type gathering struct {
	first, last *serverCall
	timer       *time.Timer // nil before the first call that waits
	armed       bool
}

// add appends a call. Its time begins when all that was read is handled: most requests are complete then.
func (g *gathering) add(sc *serverCall) {
	sc.since = time.Time{}
	if sc.before = g.last; g.last == nil {
		g.first = sc
	} else {
		g.last.next = sc
	}
	g.last, sc.listed = sc, true
}

// remove removes a call, if it is there.
func (g *gathering) remove(sc *serverCall) {
	if !sc.listed {
		return
	}
	if sc.before == nil {
		g.first = sc.next
	} else {
		sc.before.next = sc.next
	}
	if sc.next == nil {
		g.last = sc.before
	} else {
		sc.next.before = sc.before
	}
	sc.before, sc.next, sc.listed = nil, nil, false
	if g.first == nil && g.armed {
		g.timer.Stop()
		g.armed = false
	}
}

// watchRequests begins the time of the calls that were added since it was called last.
func (c *serverConn) watchRequests() {
	g, limit := &c.gathering, c.cfg.RequestTimeout
	if g.last == nil || !g.last.since.IsZero() || limit < 0 {
		return
	}
	now := time.Now()
	for sc := g.last; sc != nil && sc.since.IsZero(); sc = sc.before {
		sc.since = now
	}
	switch {
	case g.armed:
		return
	case g.timer == nil:
		g.timer = time.AfterFunc(limit, c.endLateRequests)
	default:
		g.timer.Reset(limit)
	}
	g.armed = true
}

// endLateRequests is the function of the timer.
func (c *serverConn) endLateRequests() {
	c.h2.Lock()
	defer c.h2.Unlock()
	g, limit := &c.gathering, c.cfg.RequestTimeout
	g.armed = false
	now := time.Now()
	for sc := g.first; sc != nil && now.Sub(sc.since) >= limit; sc = g.first {
		sc.fail(statusf(call.DeadlineExceeded, "grpc: the request was not complete after %v", limit))
	}
	if g.first != nil {
		g.timer.Reset(limit - now.Sub(g.first.since))
		g.armed = true
	}
}
