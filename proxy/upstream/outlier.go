package upstream

import "time"

// judge has a request's outcome decide whether e stays in use.
func (e *Endpoint) judge(o Outcome, now time.Duration) {
	limits := e.cluster.cfg.Outlier
	switch {
	case limits == nil || o == Canceled || o == LocalFailure:
	case o == Success:
		if e.failures.Load() != 0 {
			e.failures.Store(0)
		}
		if e.ejectedInRow.Load() != 0 && e.out.Load() == 0 {
			e.ejectedInRow.Store(0)
		}
	case e.out.Load() != 0:
		// It is about a request that began before e was ejected, or one e got as there was no other.
	case e.failures.Add(1) >= int64(limits.Failures):
		e.cluster.eject(e, now)
	}
}

// eject takes e out of use for a while, unless too many are out already. It is called on a loop, and so gives up if members are
// being changed: the next failure asks again.
func (c *Cluster) eject(e *Endpoint, now time.Duration) {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	all, out := c.members.Load().all, 0
	for _, other := range all {
		if other.out.Load() != 0 {
			out++
		}
	}
	if e.Retired() || e.out.Load() != 0 || len(all) < 2 || out >= max(1, len(all)*c.cfg.Outlier.MaxEjected/100) {
		return
	}
	n := e.ejectedInRow.Add(1)
	e.ejections.Add(1)
	e.failures.Store(0)
	e.out.Store(int64(now + time.Duration(n)*c.cfg.Outlier.EjectionTime))
	c.rebuild(all)
}

// readmit puts back into use the endpoints whose ejection has ended, and returns the members there are then. It is called on a
// loop, and so leaves that to another Pick if members are being changed.
func (c *Cluster) readmit(now time.Duration) *members {
	if c.mu.TryLock() {
		all := c.members.Load().all
		for _, e := range all {
			if out := e.out.Load(); out != 0 && out <= int64(now) {
				e.out.Store(0)
			}
		}
		c.rebuild(all)
		c.mu.Unlock()
	}
	return c.members.Load()
}
