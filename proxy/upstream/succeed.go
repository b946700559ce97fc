package upstream

import (
	"reflect"
	"sync/atomic"

	"example.com/ferry/loop"
)

// A changed configuration makes a new Cluster beside the one in use, whose requests go on. What both count is one thing: the
// cluster that has this name, and the server at this address. So they share their counters, and limits hold for both
// together.

// counters count the requests of a cluster, and of the cluster that it has replaced.
type counters struct {
	_ cacheLines
	// turn is the number of requests that round-robin has assigned.
	turn atomic.Uint64
	_    cacheLines
	// active is the number of active requests of all loops.
	active atomic.Int64
	_      cacheLines

	waiting atomic.Int64
	refused struct{ requests, connections, waiting atomic.Int64 }
	failed  struct{ lookups, checks atomic.Int64 }
	tls     tlsCounters
}

// tlsCounters count the handshakes of a cluster with TLS.
type tlsCounters struct {
	handshakes, resumed atomic.Int64
	failures            [TLSFailures]atomic.Int64
}

// endpointCounters count the requests of an endpoint, and of the endpoint at the same address that it has replaced.
type endpointCounters struct {
	_ cacheLines // every request writes the fields below

	load         load
	conns        atomic.Int64
	latency      latency
	failures     atomic.Int64 // number of failures in a row
	ejectedInRow atomic.Int64
	ejections    atomic.Int64
	outcomes     [Outcomes]atomic.Int64 // number of requests by outcome; Success is counted in load
	timesDown    atomic.Int64

	_ cacheLines
}

// countersAfter returns the counters of the endpoint that replaces e, which may be nil.
func countersAfter(e *Endpoint) *endpointCounters {
	if e == nil {
		return &endpointCounters{}
	}
	return e.endpointCounters
}

func (c *Cluster) byAddress() map[loop.Addr]*Endpoint {
	all := map[loop.Addr]*Endpoint{}
	for _, e := range c.members.Load().all {
		all[e.addr] = e
	}
	return all
}

// resolved returns the addresses that c has found for the name of s. A new cluster has them until its first lookup
// succeeds. c may be nil.
func (c *Cluster) resolved(s *target) []loop.Addr {
	if c == nil || s.host == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, old := range c.targets {
		if old.host == s.host && old.port == s.port {
			return old.addrs
		}
	}
	return nil
}

// Succeed gives the endpoints of c the state that they have in before, which c replaces: an endpoint that health checks have
// found down stays down if Health is the same, and an ejection goes on if Outlier is. It is called when c takes over.
func (c *Cluster) Succeed(before *Cluster) {
	health := reflect.DeepEqual(c.cfg.Health, before.cfg.Health) && reflect.DeepEqual(c.cfg.TLS, before.cfg.TLS)
	outlier := reflect.DeepEqual(c.cfg.Outlier, before.cfg.Outlier)
	earlier := before.byAddress()
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.members.Load().all
	for _, e := range all {
		old := earlier[e.addr]
		if old == nil {
			continue
		}
		if health {
			e.down.Store(old.down.Load())
		}
		if outlier {
			e.ejectedUntil.Store(old.ejectedUntil.Load())
		}
	}
	c.rebuild(all)
}
