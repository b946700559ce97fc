package balance

import "time"

// detectOutlier counts the outcome of a request and ejects e after too many failures in a row.
func (e *Endpoint) detectOutlier(o Outcome, now time.Duration) {
	limits := e.set.cfg.Outlier
	switch {
	case limits == nil || o == Canceled || o == LocalFailure:
	case o == Success:
		if e.failures.Load() != 0 {
			e.failures.Store(0)
		}
		if e.ejectedInRow.Load() != 0 && e.ejectedUntil.Load() == 0 {
			e.ejectedInRow.Store(0)
		}
	case e.ejectedUntil.Load() != 0:
		// The request began before e was ejected, or all endpoints are ejected.
	case e.failures.Add(1) >= int64(limits.Failures):
		e.set.eject(e, now)
	}
}

// eject ejects e for a while, unless MaxEjected endpoints are already ejected. It may run on a loop and must not wait
// for mu. If mu is locked, the next failure tries again.
func (s *Set) eject(e *Endpoint, now time.Duration) {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	all, out := s.members.Load().all, 0
	for _, other := range all {
		if other.ejectedUntil.Load() != 0 {
			out++
		}
	}
	if e.Retired() || e.ejectedUntil.Load() != 0 || len(all) < 2 || out >= max(1, len(all)*s.cfg.Outlier.MaxEjected/100) {
		return
	}
	n := e.ejectedInRow.Add(1)
	e.ejections.Add(1)
	e.failures.Store(0)
	e.ejectedUntil.Store(int64(now + time.Duration(n)*s.cfg.Outlier.EjectionTime))
	s.rebuild(all)
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
