package balance

import "time"

// State is what is known of an endpoint beside its configuration: what health checks, failures and operators have made of it. It belongs
// to the endpoint's address, not to a Set, and passes to the endpoint that replaces it.
type State struct {
	Down         bool          // active health checks have failed
	Ejected      time.Duration // end of the ejection on the caller's clock; 0 if not ejected
	EjectedInRow int64         // ejections since the endpoint was last well
	Drained      bool          // SetDrained
	Weight       int           // SetWeight; 0 means that of the configuration
}

// State returns the state of e.
func (e *Endpoint) State() State {
	e.set.mu.Lock()
	defer e.set.mu.Unlock()
	s := State{
		Down: e.down.Load(), Ejected: time.Duration(e.ejectedUntil.Load()), EjectedInRow: e.ejectedInRow.Load(), Drained: e.drained.Load(),
	}
	if e.given {
		s.Weight = int(e.weight.Load())
	}
	return s
}

// Restore gives the endpoints of s the states that of returns. It skips those for which of returns false. now is the caller's clock. Without
// Config.Outlier no endpoint stays ejected, and none for longer than Outlier allows.
func (s *Set) Restore(of func(e *Endpoint) (State, bool), now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.members.Load().all
	for _, e := range all {
		state, ok := of(e)
		if !ok {
			continue
		}
		e.down.Store(state.Down)
		e.drained.Store(state.Drained)
		e.setGivenWeight(state.Weight)
		until := time.Duration(0)
		if o := s.cfg.Outlier; o != nil && state.Ejected > now {
			until = min(state.Ejected, now+o.MaxEjectionTime)
		}
		e.ejectedUntil.Store(int64(until))
		e.ejectedInRow.Store(state.EjectedInRow)
	}
	s.rebuild(all)
}
