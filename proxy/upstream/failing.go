package upstream

import (
	"sync/atomic"
	"time"
)

// failing is what an operator learns of an endpoint whose requests or health checks fail.
type failing struct {
	last     atomic.Pointer[lastError] // nil before the first failure
	warnedAt atomic.Int64              // when the log had a warning, in ns of the group's clock
}

type lastError struct {
	err error
	at  time.Duration // on the group's clock
}

const (
	errorEach = time.Second // least time between two errors that are kept: many requests may fail
	warnEach  = time.Minute // least time between two warnings
)

// failed keeps the error of a failure that the endpoint has caused, and logs it at most once a minute. describe makes the error, if it is needed.
func (e *Endpoint) failed(now time.Duration, describe func() error) {
	f := &e.failing
	if last := f.last.Load(); last != nil && now-last.at < errorEach {
		return
	}
	err := describe()
	f.last.Store(&lastError{err, now})
	warned := f.warnedAt.Load()
	if warned != 0 && now-time.Duration(warned) < warnEach || !f.warnedAt.CompareAndSwap(warned, max(int64(now), 1)) {
		return
	}
	c := e.cluster
	// A log may block, which a loop must not.
	go c.log.Warn("upstream: requests to an endpoint fail", "cluster", c.cfg.Name, "endpoint", e.addr.String(), "err", err)
}

// checkFailed keeps the error of a health check. setHealth logs it.
func (e *Endpoint) checkFailed(now time.Duration, err error) {
	e.failing.last.Store(&lastError{err, now})
}
