package upstream

import (
	"reflect"
	"sync/atomic"

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

// Succeed gives the endpoints of c the state that they have in before, which c replaces: an endpoint that health checks have
// found down stays down if Health is the same, and an ejection goes on if Outlier is. What an operator has set ends, and the log names it. It
// is called when c takes over.
func (c *Cluster) Succeed(before *Cluster) {
	health := reflect.DeepEqual(c.cfg.Health, before.cfg.Health) && reflect.DeepEqual(c.cfg.TLS, before.cfg.TLS)
	outlier := reflect.DeepEqual(c.cfg.Outlier, before.cfg.Outlier)
	earlier := before.byAddress()
	c.set.Inherit(func(e *balance.Endpoint) *balance.Endpoint {
		return earlier[endpointOf(e).addr].balance()
	}, health, outlier)
	now := c.byAddress()
	for at, e := range earlier {
		if now[at] != nil {
			c.ended(e, "a reload has changed the cluster")
		}
	}
}
