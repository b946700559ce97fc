package upstream

import (
	"sync/atomic"
	"time"

	"example.com/ferry/proxy/loop"
)

// Endpoint is one server of a Cluster. All its methods may be called by any loop, but for Pool and SetPool as they say.
type Endpoint struct {
	cluster *Cluster
	addr    loop.Addr
	pools   []Pool // by the loop's index
	active  atomic.Int64
	conns   atomic.Int64
}

// Pool is the connections of one loop to one endpoint. Its driver makes it and keeps it with SetPool.
type Pool interface {
	// Retire comes, on the pool's loop, when no request will be sent any more: what is idle is closed at once, the rest when
	// its requests are done.
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
)

// Addr is where the endpoint listens.
func (e *Endpoint) Addr() loop.Addr { return e.addr }

// Cluster is what the endpoint belongs to.
func (e *Endpoint) Cluster() *Cluster { return e.cluster }

// Pool returns what SetPool kept for the loop with that index, or nil. It is for that loop only.
func (e *Endpoint) Pool(loop int) Pool { return e.pools[loop] }

// SetPool keeps a loop's pool. It is for that loop only.
func (e *Endpoint) SetPool(loop int, p Pool) { e.pools[loop] = p }

// Retired reports whether the endpoint is not the cluster's any more: whoever makes a Pool for one that is retires it itself.
func (e *Endpoint) Retired() bool { return false }

// Connect counts a connection about to be dialled, and reports whether there may be one more. If so, Disconnect follows when
// it is closed, whether it ever opened or not.
func (e *Endpoint) Connect() bool {
	if e.conns.Add(1) > int64(e.cluster.cfg.Limits.Connections) {
		e.conns.Add(-1)
		return false
	}
	return true
}

// Disconnect undoes Connect.
func (e *Endpoint) Disconnect() { e.conns.Add(-1) }

// Done ends a request that Pick gave to e. took is the time from Pick to the answer's head.
func (e *Endpoint) Done(_ Outcome, took, now time.Duration) {
	e.active.Add(-1)
	e.cluster.active.Add(-1)
}
