package upstream

import (
	"reflect"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/loop"
)

// A changed configuration makes a new Cluster beside the one in use, whose requests go on. What both count is one thing: the
// cluster that has this name, and the server at this address. So they share their counters, and limits hold for both
// together.

// counters count what happens to a cluster beside its requests, and to the cluster that it has replaced.
type counters struct {
	failed struct{ lookups, checks atomic.Int64 }
	tls    tlsCounters
}

// tlsCounters count the handshakes of a cluster with TLS.
type tlsCounters struct {
	handshakes, resumed atomic.Int64
	failures            [TLSFailures]atomic.Int64
}

func (c *Cluster) byAddress() map[loop.Addr]*Endpoint {
	all := map[loop.Addr]*Endpoint{}
	for _, e := range c.set.All() {
		all[endpointOf(e).addr] = endpointOf(e)
	}
	return all
}

// Succeed gives the endpoints of c the state that they have in before, which c replaces: whether they are down, ejected or drained, and the
// weight that an operator has set. What another health check has found counts until the new one succeeds once. It is called when c takes
// over.
func (c *Cluster) Succeed(before *Cluster) {
	states := map[string]EndpointState{}
	for at, e := range before.byAddress() {
		states[at.String()] = e.state(c.group.Now())
	}
	if !sameCheck(&c.cfg, &before.cfg) {
		for at, s := range states {
			s.OtherCheck = true
			states[at] = s
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restore(states)
	now := c.byAddress()
	for at, e := range before.byAddress() {
		if now[at] == nil {
			before.ended(e, "its address is gone")
		}
	}
}

// sameCheck reports whether the health checks of two clusters ask the same. How often they do so does not matter.
func sameCheck(a, b *Config) bool {
	if a.Health == nil || b.Health == nil {
		return a.Health == b.Health
	}
	x, y := *a.Health, *b.Health
	x.Interval, x.Timeout, x.Unhealthy, x.Healthy = y.Interval, y.Timeout, y.Unhealthy, y.Healthy
	return reflect.DeepEqual(x, y) && reflect.DeepEqual(a.TLS, b.TLS) && a.Protocol == b.Protocol
}

// EndpointState is the state of an endpoint for another Cluster, also one in another process.
type EndpointState struct {
	Down         bool          `json:",omitempty"` // the health checks have failed
	Ejected      time.Duration `json:",omitempty"` // time that is left of the ejection
	EjectedInRow int64         `json:",omitempty"` // ejections since the endpoint was last well
	Drained      bool          `json:",omitempty"` // by an operator
	Weight       int           `json:",omitempty"` // by an operator; 0 means that of the configuration
	OtherCheck   bool          `json:",omitempty"` // the health check is another one now
}

// state returns the state of e. now is the loops' clock.
func (e *Endpoint) state(now time.Duration) EndpointState {
	s := e.balanced.State()
	return EndpointState{
		Down: s.Down, Ejected: max(s.Ejected-now, 0), EjectedInRow: s.EjectedInRow, Drained: s.Drained, Weight: s.Weight,
		OtherCheck: e.otherCheck.Load(),
	}
}

// States returns the states of the endpoints by address. It leaves out those that a new endpoint has.
func (c *Cluster) States() map[string]EndpointState {
	states := map[string]EndpointState{}
	for at, e := range c.byAddress() {
		if s := e.state(c.group.Now()); s != (EndpointState{}) {
			states[at.String()] = s
		}
	}
	return states
}

// restore gives endpoints their states by address. Those of addresses that are not known yet follow when update finds them. The caller
// holds mu.
func (c *Cluster) restore(states map[string]EndpointState) {
	c.awaited = states
	c.set.Restore(func(b *balance.Endpoint) (balance.State, bool) {
		e := endpointOf(b)
		s, ok := c.awaited[e.addr.String()]
		if !ok {
			return balance.State{}, false
		}
		delete(c.awaited, e.addr.String())
		e.otherCheck.Store(s.Down && s.OtherCheck)
		state := balance.State{
			Down: s.Down && c.cfg.Health != nil, EjectedInRow: s.EjectedInRow, Drained: s.Drained, Weight: s.Weight,
		}
		if s.Ejected > 0 {
			state.Ejected = c.group.Now() + s.Ejected
		}
		return state, true
	}, c.group.Now())
	if c.LookupErr() == nil {
		c.awaited = nil // these addresses are gone
	}
}
