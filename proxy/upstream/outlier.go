package upstream

import "time"

// detectOutlier counts the outcome of a request and ejects e after too many failures in a row.
func (e *Endpoint) detectOutlier(o Outcome, now time.Duration) {
	limits := e.cluster.cfg.Outlier
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
		e.cluster.eject(e, now)
	}
}

// eject ejects e for a while, unless MaxEjected endpoints are already ejected. It runs on a loop and must not wait
// for mu. If mu is locked, the next failure tries again.
func (c *Cluster) eject(e *Endpoint, now time.Duration) {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	all, out := c.members.Load().all, 0
	for _, other := range all {
		if other.ejectedUntil.Load() != 0 {
			out++
		}
	}
	if e.Retired() || e.ejectedUntil.Load() != 0 || len(all) < 2 || out >= max(1, len(all)*c.cfg.Outlier.MaxEjected/100) {
		return
	}
	n := e.ejectedInRow.Add(1)
	e.ejections.Add(1)
	e.failures.Store(0)
	e.ejectedUntil.Store(int64(now + time.Duration(n)*c.cfg.Outlier.EjectionTime))
	c.rebuild(all)
}

// readmit ends the ejections that have expired and returns the current members. It runs on a loop and must not wait
// for mu. If mu is locked, the next Pick tries again.
func (c *Cluster) readmit(now time.Duration) *members {
	if c.mu.TryLock() {
		all := c.members.Load().all
		for _, e := range all {
			if out := e.ejectedUntil.Load(); out != 0 && out <= int64(now) {
				e.ejectedUntil.Store(0)
			}
		}
		c.rebuild(all)
		c.mu.Unlock()
	}
	return c.members.Load()
}
