package upstream

import (
	"sync/atomic"
	"time"
)

// failing is what an operator learns of an endpoint whose requests or health checks fail.
type failing struct {
	request  atomic.Pointer[lastError] // of the last request that failed; nil before the first
	check    atomic.Pointer[lastError] // of the last health check that failed; nil before the first
	warnedAt atomic.Int64              // when the log had a warning, in ns of the group's clock
}

type lastError struct {
	err error
	at  time.Duration // on the group's clock
}

const (
	errorEach = time.Second // least time between two errors of requests that are kept: many may fail
	warnEach  = time.Minute // least time between two warnings
)

// failed keeps the error of a request that the endpoint has failed, and logs it at most once a minute. describe makes the error, if it is needed.
func (e *Endpoint) failed(now time.Duration, describe func() error) {
	f := &e.failing
	if last := f.request.Load(); last != nil && now-last.at < errorEach {
		return
	}
	err := describe()
	f.request.Store(&lastError{err, now})
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
	e.failing.check.Store(&lastError{err, now})
}

// lastError returns the error that explains the state of the endpoint: of a health check if it is down, of a request if it is ejected, otherwise
// the later one. It returns nil if there is none.
func (f *failing) lastError(down, ejected bool) *lastError {
	request, check := f.request.Load(), f.check.Load()
	switch {
	case request == nil, down && check != nil:
		return check
	case check == nil, ejected, request.at >= check.at:
		return request
	}
	return check
}
