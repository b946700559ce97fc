package http2

import (
	"fmt"
	"time"
)

// The timers of a connection to a server.
const (
	serverLivenessTimer = iota // checks that the connection is in use and that the server responds
	serverTickTimer            // refills the budgets of the protocol
)

const (
	tickInterval   = time.Second
	maxMissedPings = 3
	// pingBackoff is the factor between the times of two PINGs that the server has acknowledged, while its streams are
	// silent. gRPC servers close a connection with too many PINGs: grpc-go allows two that follow each other within 5
	// minutes.
	pingBackoff = 4
)

// liveness says when a connection was last in use.
type liveness struct {
	usedAt      time.Duration // when a stream was last opened or ended
	readAt      time.Duration // when bytes were last read
	silentSince time.Duration // when a stream last received something, or the first of the streams was opened
	pingAt      time.Duration // when the last PING was sent
	pingGap     time.Duration // time from an acknowledged PING to the next one; 0 after a stream was opened
	missedPings int           // number of PINGs since bytes were last read
	ticking     bool          // serverTickTimer is set
}

// startTicks sets serverTickTimer if the protocol has a budget to refill.
func (sc *serverConn) startTicks() {
	if !sc.ticking && !sc.http2.Idle() {
		sc.ticking = true
		sc.socket.SetTimer(serverTickTimer, tickInterval)
	}
}

func (sc *serverConn) tick() {
	sc.http2.Tick()
	sc.ticking = false
	sc.startTicks()
}

// checkLiveness closes a connection that was unused for idle_timeout, and aborts one whose server does not respond.
func (sc *serverConn) checkLiveness() {
	if sc.state == serverClosed {
		return
	}
	cfg, now := sc.pool.endpoint.Cluster().Config(), sc.pool.loop.Now()
	next := time.Duration(-1)
	if cfg.IdleTimeout > 0 {
		next = cfg.IdleTimeout
		if sc.http2.Streams() == 0 {
			if next = sc.usedAt + cfg.IdleTimeout - now; next <= 0 {
				sc.close()
				return
			}
		}
	}
	if cfg.Heartbeat > 0 {
		wait := sc.heartbeat(now, cfg.Heartbeat)
		if sc.missedPings > maxMissedPings {
			err := fmt.Errorf("http2: %v has acknowledged none of %d PINGs", sc.pool.endpoint.Addr(), maxMissedPings)
			sc.lose(err)
			sc.socket.Abort(err)
			return
		}
		if next < 0 || wait < next {
			next = wait
		}
	}
	if next >= 0 {
		sc.socket.SetTimer(serverLivenessTimer, next)
	}
}

// heartbeat sends a PING if the streams have been silent for long enough. every is the configured interval. It returns the
// time until the next call. A connection without streams gets no PING.
func (sc *serverConn) heartbeat(now, every time.Duration) time.Duration {
	if sc.http2.Streams() == 0 {
		return every
	}
	acknowledged, gap := sc.readAt >= sc.pingAt, every
	if acknowledged {
		sc.missedPings = 0
		if sc.silentSince < sc.pingAt {
			gap = max(gap, sc.pingGap)
		}
	}
	if wait := max(sc.silentSince, sc.pingAt) + gap - now; wait > 0 {
		return wait
	}
	if sc.missedPings++; sc.missedPings <= maxMissedPings {
		sc.http2.Ping()
	}
	sc.pingAt = now
	if acknowledged {
		sc.pingGap = gap * pingBackoff
	}
	return every
}
