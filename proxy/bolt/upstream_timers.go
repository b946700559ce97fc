package bolt

import (
	"fmt"
	"time"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
)

const maxMissedHeartbeats = 3

// watchDeadline makes sure that deadlineTimer expires no later than deadline. Zero means no deadline.
func (u *upstreamConn) watchDeadline(deadline time.Duration) {
	if deadline != 0 && (u.nextDeadline == 0 || deadline < u.nextDeadline) {
		u.nextDeadline = deadline
		u.socket.SetTimer(deadlineTimer, deadline-u.pool.loop.Now())
	}
}

// failExpired fails the requests whose deadline has passed, and sets the timer for the next one.
func (u *upstreamConn) failExpired() {
	now := u.pool.loop.Now()
	var expired []*request
	next := time.Duration(0)
	for _, list := range [...][]*request{u.unsent, u.sent.slots} {
		for _, r := range list {
			switch {
			case r == nil || r.deadline == 0:
			case r.deadline <= now:
				expired = append(expired, r)
			case next == 0 || r.deadline < next:
				next = r.deadline
			}
		}
	}
	u.nextDeadline = 0
	u.watchDeadline(next)
	for _, r := range expired {
		u.cancel(r)
		r.fail(route.OnTimeout, u.connected)
	}
}

// checkLiveness closes a connection that was unused for idle_timeout. If nothing was read from the server for one
// heartbeat interval, checkLiveness sends a heartbeat. It aborts the connection after maxMissedHeartbeats heartbeats
// without a response.
func (u *upstreamConn) checkLiveness() {
	cfg, now := u.pool.endpoint.Cluster().Config(), u.pool.loop.Now()
	next := time.Duration(-1)
	if cfg.IdleTimeout > 0 {
		next = u.usedAt + cfg.IdleTimeout - now
		if next <= 0 && u.idle() {
			u.retire()
			return
		}
		if next <= 0 {
			next = cfg.IdleTimeout
		}
	}
	if u.midUpload() || u.paused {
		u.readAt, u.missedHeartbeats = now, 0 // no heartbeat can be sent now, or its response is not read
	}
	if cfg.Heartbeat > 0 {
		silent := now - u.readAt
		sent := time.Duration(u.missedHeartbeats) * cfg.Heartbeat // the silent time that earlier heartbeats account for
		if silent >= sent+cfg.Heartbeat {
			if u.missedHeartbeats == maxMissedHeartbeats {
				u.abort(fmt.Errorf("bolt: %v has responded to none of %d heartbeats", u.pool.endpoint.Addr(), maxMissedHeartbeats))
				return
			}
			ls := u.pool.loopState
			ls.scratch, _ = wire.AppendHeartbeat(ls.scratch[:0], u.dialect, u.sent.nextID())
			u.socket.Write(ls.scratch)
			u.missedHeartbeats++
			sent += cfg.Heartbeat
		}
		// If the loop or the machine was suspended, the next heartbeat may already be overdue.
		if wait := max(sent+cfg.Heartbeat-silent, 0); next < 0 || wait < next {
			next = wait
		}
	}
	if next >= 0 {
		u.socket.SetTimer(heartbeatTimer, next)
	}
}
