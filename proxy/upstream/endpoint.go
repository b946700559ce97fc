package upstream

import (
	"context"
	"sync/atomic"
	"time"

	"example.com/ferry/loop"
)

// Endpoint is one address of a Cluster. Any loop may call its methods, except for Pool and SetPool.
type Endpoint struct {
	cluster    *Cluster
	addr       loop.Addr
	host       atomic.Pointer[string]
	weight     uint64
	pools      []loopPools // by the loop's index
	retired    atomic.Bool
	stopChecks context.CancelFunc // nil if it has no health checks. Used with Cluster.mu held

	// Changed with Cluster.mu held.
	down         atomic.Bool  // by active health checks
	ejectedUntil atomic.Int64 // the end of its ejection, in ns; 0 if it is not ejected
	timesDown    atomic.Int64

	_ cacheLines // the fields below are written by every request, those above are only read

	load         load
	conns        atomic.Int64
	latency      latency
	failures     atomic.Int64 // in a row
	ejectedInRow atomic.Int64
	ejections    atomic.Int64
	outcomes     [Outcomes]atomic.Int64 // without Success, which load counts

	_ cacheLines
}

// cacheLines keeps the fields before it and behind it on different cache lines. Processors fetch lines in pairs.
type cacheLines [128]byte

// Pool has the connections of one loop to one endpoint. A driver makes it and stores it with SetPool.
type Pool interface {
	// Retire is called on the pool's loop when no more requests will be sent: idle connections are closed at once, others when their
	// requests are done. It may be called twice for a pool that was made after its endpoint was retired.
	Retire()
}

// Outcome is the result of one attempt to send a request to an endpoint.
type Outcome uint8

// The outcomes.
const (
	Success        Outcome = iota
	Failure                // a response that says that the server failed: 5xx
	ConnectFailure         // the connection was not made
	Reset                  // the connection ended before the response
	Timeout                // no response in time
	Canceled               // the client left; says nothing about the endpoint
	LocalFailure           // the connection was not made because this machine ran out of a resource; says nothing about the endpoint

	Outcomes = iota // the number of outcomes
)

// String returns the value of the metrics label outcome.
func (o Outcome) String() string {
	return [Outcomes]string{"success", "failure", "connect_failure", "reset", "timeout", "canceled", "local_failure"}[o]
}

// Addr returns the address of the endpoint.
func (e *Endpoint) Addr() loop.Addr { return e.addr }

// Cluster returns the cluster of the endpoint.
func (e *Endpoint) Cluster() *Cluster { return e.cluster }

// Host returns the name that the configuration gives the endpoint, without a port. It is empty for an IP address and a socket.
func (e *Endpoint) Host() string { return *e.host.Load() }

// Pool returns the pool of a protocol and of the loop with that index, or nil. Only that loop may call it.
func (e *Endpoint) Pool(loop int, p Protocol) Pool { return e.pools[loop][p.index()] }

// SetPool stores the pool of a protocol and of the loop with that index. Only that loop may call it.
func (e *Endpoint) SetPool(loop int, p Protocol, made Pool) { e.pools[loop][p.index()] = made }

// loopPools are the pools of one loop, in the order of Protocols.
type loopPools [len(Protocols)]Pool

// Retired reports whether the endpoint was removed from the cluster. A driver that makes a Pool for a retired endpoint retires it.
func (e *Endpoint) Retired() bool { return e.retired.Load() }

// Done ends a request for which Pick returned e. took is the time from Pick to the head of the response, now the loop's clock.
func (e *Endpoint) Done(o Outcome, took, now time.Duration) {
	e.cluster.active.Add(-1)
	if o == Success {
		e.load.succeed()
	} else {
		e.load.fail()
		e.outcomes[o].Add(1)
	}
	e.observeLatency(o, took, now)
	e.detectOutlier(o, now)
}
