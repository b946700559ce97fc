package balance

import (
	"sync"
	"time"
)

// detectOutlier counts the outcome of a request, and ejects e after too many failures of its own in a row, or if nearly all of its
// requests fail.
func (e *Endpoint) detectOutlier(o Outcome, caller Caller, now time.Duration) {
	limits, rule := e.set.cfg.Outlier, &outcomes[o]
	switch {
	case limits == nil || rule.silent:
	case rule.owner == ofCaller:
		if e.failures.Load() != 0 {
			e.failures.Store(0)
		}
		if e.ejectedInRow.Load() != 0 && e.ejectedUntil.Load() == 0 && o == Success {
			e.ejectedInRow.Store(0)
		}
	case e.ejectedUntil.Load() != 0:
		// The request began before e was ejected, or all endpoints are ejected.
	case rule.owner == ofEndpoint:
		if e.failures.Add(1) >= int64(limits.Failures) {
			e.set.eject(e, now)
		}
	default:
		e.detectFailing(caller, now)
	}
}

// The ratio rule.
const (
	mostlyCalls   = 20          // smallest number of calls
	mostlyPercent = 85          // smallest share of them that fails
	mostlyAge     = time.Minute // length of the window of calls
)

// failing is a window of an endpoint's requests. It begins with a failure, and ends after mostlyAge or with the first failure that makes
// mostlyCalls complete without an ejection. The counts are those of the endpoint just before the window.
type failing struct {
	mu                  sync.Mutex // only TryLock
	began               time.Duration
	open                bool
	responses, failures int64
	first               Caller // of the first failure
	several             bool   // failures of more than one caller, or of OwnRequest
	unhealthy           bool   // half of the calls of the window before have failed
}

// detectFailing counts a failure of e's handler for the rule: an endpoint is ejected when 85 % of at least 20 calls have failed, of two
// callers at least, while another endpoint is healthy. If all endpoints fail alike, the requests are the cause, or what stands behind all of
// them, and an ejection would not help. It may run on a loop and must not wait for a lock: if one is taken, the next failure tries again.
func (e *Endpoint) detectFailing(caller Caller, now time.Duration) {
	w := &e.failing
	if !w.mu.TryLock() {
		return
	}
	defer w.mu.Unlock()
	responses, failures := e.responses()
	if old := now-w.began > mostlyAge; !w.open || old {
		w.unhealthy = w.unhealthy && !old
		w.open, w.began, w.first, w.several = true, now, caller, false
		w.responses, w.failures = responses-1, failures-1
	}
	w.several = w.several || caller == OwnRequest || caller != w.first
	switch n, failed := responses-w.responses, failures-w.failures; {
	case n < mostlyCalls:
	case failed*100 >= n*mostlyPercent && w.several && e.set.othersHealthy(e, now):
		w.open = !e.set.eject(e, now)
	default:
		w.open, w.unhealthy = false, half(failed, n)
	}
}

// half reports whether failed is at least half of n.
func half(failed, n int64) bool { return 2*failed >= n }

// responses returns how many requests say something about e, and how many of them e or its handler has failed.
func (e *Endpoint) responses() (all, failed int64) {
	all = e.load.succeeded()
	for o := range e.outcomes {
		switch rule, n := &outcomes[o], e.outcomes[o].Load(); {
		case rule.owner != ofCaller:
			all, failed = all+n, failed+n
		case !rule.silent:
			all += n
		}
	}
	return all, failed
}

// othersHealthy reports whether an endpoint other than e gets requests and responds to at least half of them without a failure.
func (s *Set) othersHealthy(e *Endpoint, now time.Duration) bool {
	for _, other := range s.members.Load().up {
		if other != e && other.ejectedUntil.Load() == 0 && other.healthy(now) {
			return true
		}
	}
	return false
}

// healthy reports whether less than half of the recent requests to e have failed. If it cannot tell, it reports false.
func (e *Endpoint) healthy(now time.Duration) bool {
	w := &e.failing
	if e.failures.Load() != 0 || !w.mu.TryLock() {
		return false
	}
	defer w.mu.Unlock()
	responses, failures := e.responses()
	switch {
	case !w.open && w.began == 0, now-w.began > mostlyAge:
		return responses > failures
	case w.open && half(failures-w.failures, responses-w.responses):
		return false
	}
	return !w.unhealthy
}

// eject ejects e for a while, unless MaxEjected endpoints are already ejected, and reports whether e is ejected. It may run on a loop and
// must not wait for mu. If mu is locked, the next failure tries again.
func (s *Set) eject(e *Endpoint, now time.Duration) bool {
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	all, out := s.members.Load().all, 0
	for _, other := range all {
		if other.ejectedUntil.Load() != 0 {
			out++
		}
	}
	limits := s.cfg.Outlier
	if e.Retired() || e.ejectedUntil.Load() != 0 || len(all) < 2 || out >= max(1, len(all)*limits.MaxEjected/100) {
		return e.ejectedUntil.Load() != 0
	}
	n := e.ejectedInRow.Add(1)
	e.ejections.Add(1)
	e.failures.Store(0)
	e.ejectedUntil.Store(int64(now + limits.ejection(n)))
	s.rebuild(all)
	return true
}

// readmit ends the ejections that have expired and returns the current members. It may run on a loop and must not wait
// for mu. If mu is locked, the next Pick tries again.
func (s *Set) readmit(now time.Duration) *members {
	if s.mu.TryLock() {
		all := s.members.Load().all
		for _, e := range all {
			if out := e.ejectedUntil.Load(); out != 0 && out <= int64(now) {
				e.ejectedUntil.Store(0)
			}
		}
		s.rebuild(all)
		s.mu.Unlock()
	}
	return s.members.Load()
}
