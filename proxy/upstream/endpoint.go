package upstream

import (
	"context"
	"sync/atomic"
	"time"

	"example.com/ferry/loop"
)

// Endpoint is one server of a Cluster. All its methods may be called by any loop, but for Pool and SetPool as they say.
type Endpoint struct {
	cluster *Cluster
	addr    loop.Addr
	weight  uint64
	pools   []Pool // by the loop's index
	retired atomic.Bool
	unwatch context.CancelFunc // ends its health checks; nil if there are none. Used with Cluster.mu held

	// Changed with Cluster.mu held.
	down  atomic.Bool  // active checks say so
	out   atomic.Int64 // until when it is ejected, in ns; 0 if it is not
	downs atomic.Int64

	_ line // what follows changes with every request, what is above is read with every request

	load         load
	conns        atomic.Int64
	latency      latency
	failures     atomic.Int64 // in a row
	ejectedInRow atomic.Int64
	ejections    atomic.Int64
	outcomes     [Outcomes]atomic.Int64 // but Success, which load counts

	_ line
}

// line keeps what is before it and what is behind it in different lines of the processors' caches, in pairs of which they are
// fetched.
type line [128]byte

// Pool is the connections of one loop to one endpoint. Its driver makes it and keeps it with SetPool.
type Pool interface {
	// Retire comes, on the pool's loop, when no request will be sent any more: what is idle is closed at once, the rest when
	// its requests are done. It may come twice to a pool that was made when its endpoint was retired already.
	Retire()
}

// Outcome is what became of a request to an endpoint.
type Outcome uint8

// The outcomes.
const (
	Success        Outcome = iota
	Failure                // an answer that says that the server failed: 5xx
	ConnectFailure         // no connection
	Reset                  // the connection ended before the answer
	Timeout                // no answer in time
	Canceled               // the client did not wait for it: says nothing about the server
	LocalFailure           // no connection, for want of something on this machine: says nothing about the server

	Outcomes = iota // how many there are
)

// String is the outcome as metrics name it.
func (o Outcome) String() string {
	return [Outcomes]string{"success", "failure", "connect_failure", "reset", "timeout", "canceled", "local_failure"}[o]
}

// Addr is where the endpoint listens.
func (e *Endpoint) Addr() loop.Addr { return e.addr }

// Cluster is what the endpoint belongs to.
func (e *Endpoint) Cluster() *Cluster { return e.cluster }

// Pool returns what SetPool kept for the loop with that index, or nil. It is for that loop only.
func (e *Endpoint) Pool(loop int) Pool { return e.pools[loop] }

// SetPool keeps a loop's pool. It is for that loop only.
func (e *Endpoint) SetPool(loop int, p Pool) { e.pools[loop] = p }

// Retired reports whether the endpoint is not the cluster's any more: whoever makes a Pool for one that is retires it itself.
func (e *Endpoint) Retired() bool { return e.retired.Load() }

// Done ends a request that Pick gave to e. took is the time from Pick to the answer's head, now the loop's clock.
func (e *Endpoint) Done(o Outcome, took, now time.Duration) {
	e.cluster.active.Add(-1)
	if o == Success {
		e.load.succeed()
	} else {
		e.load.fail()
		e.outcomes[o].Add(1)
	}
	e.learn(o, took, now)
	e.judge(o, now)
}
