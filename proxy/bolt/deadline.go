package bolt

import (
	"fmt"
	"time"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
)

const mayMiss = 3 // heartbeats without an answer

// due sees that what is in flight is looked at by then.
func (u *upstreamConn) due(deadline time.Duration) {
	if deadline != 0 && (u.earliest == 0 || deadline < u.earliest) {
		u.earliest = deadline
		u.socket.SetTimer(deadlineTimer, deadline-u.pool.loop.Now())
	}
}

// expire ends what has taken too long, and looks when the next one will have.
func (u *upstreamConn) expire() {
	now := u.pool.loop.Now()
	var expired []*request
	next := time.Duration(0)
	for _, list := range [...][]*request{u.waiting, u.sent.slots} {
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
	u.earliest = 0
	u.due(next)
	for _, r := range expired {
		u.drop(r)
		r.fail(route.OnTimeout, u.open)
	}
}

// beat asks a server that has been silent for a sign of life, and closes a connection that was not used.
func (u *upstreamConn) beat() {
	cfg, now := u.pool.endpoint.Cluster().Config(), u.pool.loop.Now()
	next := time.Duration(-1)
	if cfg.IdleTimeout > 0 {
		next = u.used + cfg.IdleTimeout - now
		if next <= 0 && u.empty() {
			u.retire()
			return
		}
		if next <= 0 {
			next = cfg.IdleTimeout
		}
	}
	if u.uploading() || u.paused {
		u.heard, u.missed = now, 0 // no heartbeat can be sent now, or its response read
	}
	if cfg.Heartbeat > 0 {
		silent := now - u.heard
		asked := time.Duration(u.missed) * cfg.Heartbeat
		if silent >= asked+cfg.Heartbeat {
			if u.missed == mayMiss {
				u.abort(fmt.Errorf("bolt: %v has answered none of %d heartbeats", u.pool.endpoint.Addr(), mayMiss))
				return
			}
			w := u.pool.worker
			w.scratch, _ = wire.AppendHeartbeat(w.scratch[:0], u.dialect, u.sent.id())
			u.socket.Write(w.scratch)
			u.missed++
			asked += cfg.Heartbeat
		}
		// A loop that was held up for long may be late for the next one too.
		if wait := max(asked+cfg.Heartbeat-silent, 0); next < 0 || wait < next {
			next = wait
		}
	}
	if next >= 0 {
		u.socket.SetTimer(beatTimer, next)
	}
}
