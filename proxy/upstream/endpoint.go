package upstream

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/loop"
)

// Endpoint is one address of a Cluster. Any loop may call its methods, except for Pool and SetPool.
type Endpoint struct {
	cluster    *Cluster
	balanced   balance.Endpoint
	addr       loop.Addr
	host       atomic.Pointer[string]
	pools      []loopPools                 // indexed by the loop's index
	tls        atomic.Pointer[endpointTLS] // nil before the first TLS connection
	tlsFailure atomic.Int32                // 1 + TLSFailure of the last connection; 0 if it worked
	http1Until atomic.Int64                // end of the time in ns for which the server counts as one of HTTP/1.1, on the loops' clock
	otherCheck atomic.Bool                 // it is down by a health check that has been replaced
	failing    failing
	stopChecks context.CancelFunc // nil if the endpoint has no health checks; guarded by Cluster.mu
}

// endpointOf returns the Endpoint that e balances.
func endpointOf(e *balance.Endpoint) *Endpoint { return e.Value.(*Endpoint) }

// balance returns the part of e that counts and balances. It is nil if e is nil.
func (e *Endpoint) balance() *balance.Endpoint {
	if e == nil {
		return nil
	}
	return &e.balanced
}

// Pool has the connections of one loop to one endpoint. A driver creates the Pool and stores it with SetPool.
type Pool interface {
	// Retire is called on the pool's loop when no more requests will be sent. The pool closes idle connections
	// immediately, and the others when their requests have ended. If the pool was created after its endpoint was
	// retired, Retire may be called twice.
	Retire()
}

// Addr returns the address of the endpoint.
func (e *Endpoint) Addr() loop.Addr { return e.addr }

// Cluster returns the cluster of the endpoint.
func (e *Endpoint) Cluster() *Cluster { return e.cluster }

// Host returns the host name of the endpoint as configured, without a port. It is empty if the endpoint is configured
// by IP address or socket path.
func (e *Endpoint) Host() string { return *e.host.Load() }

// Authority returns the host and port that requests without a host get: the endpoint's name, or its address if it has no
// name. Many servers refuse a request without a host.
func (e *Endpoint) Authority() string {
	if e.Host() != "" {
		return net.JoinHostPort(e.Host(), strconv.Itoa(int(e.addr.TCP.Port())))
	}
	return authority(e.addr)
}

// http1For is how long an endpoint counts as one of HTTP/1.1 after its server has chosen that. Then the server is asked again,
// because it may be a newer one.
const http1For = 5 * time.Minute

// ChoseHTTP1 says that the server of a cluster with protocol auto has not chosen HTTP/2. now is the loop's clock.
func (e *Endpoint) ChoseHTTP1(now time.Duration) { e.http1Until.Store(int64(now + http1For)) }

// SpeaksHTTP1 reports whether the server of a cluster with protocol auto has chosen HTTP/1.1. now is the loop's clock.
func (e *Endpoint) SpeaksHTTP1(now time.Duration) bool { return int64(now) < e.http1Until.Load() }

// Pool returns the pool of protocol p on the loop with index loop, or nil. Only that loop may call it.
func (e *Endpoint) Pool(loop int, p Protocol) Pool { return e.pools[loop][p.index()] }

// SetPool stores the pool of protocol p on the loop with index loop. Only that loop may call it.
func (e *Endpoint) SetPool(loop int, p Protocol, made Pool) { e.pools[loop][p.index()] = made }

// loopPools has the pools of one loop, indexed like Protocols.
type loopPools [len(Protocols)]Pool

// Retired reports whether the endpoint was removed from the cluster. A driver that creates a Pool for a retired
// endpoint must retire the Pool.
func (e *Endpoint) Retired() bool { return e.balanced.Retired() }

// Done ends a request for which Pick returned e. took is the time from Pick to the head of the response. now is the
// loop's clock.
func (e *Endpoint) Done(o Outcome, took, now time.Duration) {
	e.balanced.Done(o, balance.OwnRequest, took, now)
}

// Failed is Done for a request of a client that the endpoint has failed: Outcome.Fault. describe makes an error of what happened, for the
// operator.
func (e *Endpoint) Failed(client balance.Caller, o Outcome, took, now time.Duration, describe func() error) {
	e.failed(now, describe)
	e.balanced.Done(o, client, took, now)
}

// Connect counts a connection before it is opened. It reports whether limits.connections allows the connection. If
// so, the caller must call Disconnect when the connection is closed or could not be opened.
func (e *Endpoint) Connect() bool { return e.balanced.Connect() }

// ConnectionsLeft returns the number of further connections that limits.connections allows now.
func (e *Endpoint) ConnectionsLeft() int { return e.balanced.ConnectionsLeft() }

// Disconnect undoes Connect.
func (e *Endpoint) Disconnect() { e.balanced.Disconnect() }
