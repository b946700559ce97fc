package rpc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
)

// crowded is the number of calls in progress on each connection of an endpoint at which another connection is opened.
const crowded = 16

// patience is how long calls wait for an endpoint that was connected, while it cannot be reached. It covers the start of a program in
// the place of another.
const patience = 2 * time.Second

// endpoint is one server of a Client. A goroutine for each connection opens it and waits for its end:
//
//	connecting --opened--> open --closing or lost--> connecting
//	     |   ^
//	  failed |
//	     v   | after a while
//	    backoff
//
// The first connection goes round until the endpoint is removed. The goroutine of a further one, which load has made necessary, ends
// where the first one would go back to connecting, or to backoff. An endpoint is up for the balancer while a connection is open and
// health checks do not fail.
type endpoint struct {
	balance.Endpoint
	client    *Client
	transport transport.Transport
	addr      string
	ctx       context.Context // ends when the endpoint is removed, or with the client
	cancel    context.CancelFunc
	conns     atomic.Pointer[[]*conn] // open ones; each change makes another slice

	mu        sync.Mutex
	slots     int       // goroutines of connections
	err       error     // of the last attempt to connect; nil while connecting for the first time and once open
	lost      time.Time // when the last connection ended; zero before
	unhealthy error     // of the last health check
}

// conn is an open connection.
type conn struct {
	call.Conn
	numbered call.Numbered // nil if the protocol does not number calls
	endpoint *endpoint
	active   atomic.Int64  // calls in progress
	relayed  bool          // the other end passes calls on to servers
	unusable atomic.Bool   // givenUp is closed
	givenUp  chan struct{} // closed when the server has refused a call
	lost     atomic.Bool   // a call has counted the loss of the connection
}

func newEndpoint(c *Client, found Endpoint) *endpoint {
	e := &endpoint{client: c, transport: c.transport, addr: strings.TrimPrefix(found.Addr, "unix:"), slots: 1}
	if named, ok := e.transport.(transport.Named); ok && found.Name != "" {
		e.transport = named.WithServerName(found.Name)
	}
	e.conns.Store(new([]*conn))
	e.ctx, e.cancel = context.WithCancel(c.ctx)
	e.Init(c.set, e, found.Weight, found.Priority, nil)
	return e
}

// conn returns the open connection with the fewest calls and counts one more there, or nil if there is none.
func (e *endpoint) conn() *conn {
	var best *conn
	all := *e.conns.Load()
	fewest := int64(0)
	for _, c := range all {
		if n := c.active.Load(); (best == nil || n < fewest) && !c.closing() {
			best, fewest = c, n
		}
	}
	if best == nil {
		return nil
	}
	best.active.Add(1)
	if fewest >= crowded && len(all) < e.client.cfg.Conns {
		e.widen()
	}
	return best
}

func (c *conn) closing() bool {
	if c.unusable.Load() {
		return true
	}
	select {
	case <-c.Closing():
		return true
	default:
		return false
	}
}

// giveUp makes c closing, because the server has not begun a call: it drains, and its notice has not arrived yet. A node has other
// reasons to refuse a call, and says itself when it drains.
func (c *conn) giveUp() {
	if !c.relayed && !c.unusable.Swap(true) {
		close(c.givenUp)
	}
}

// outcome returns what the balancer learns of a call on c that has ended with status. The loss of a connection counts once, however many
// calls were on it.
func (c *conn) outcome(status *call.Status) balance.Outcome {
	switch {
	case status == nil:
		return balance.Success
	case status.Code == call.Unavailable && c.Err() != nil && c.lost.Swap(true):
		return balance.Canceled
	}
	return balance.OfCode(uint32(status.Code))
}

// done ends a call for which pick has returned c. A negative took is not a latency.
func (c *conn) done(o balance.Outcome, took, now time.Duration) {
	c.active.Add(-1)
	c.endpoint.Done(o, balance.OwnRequest, took, now)
}

// widen opens another connection.
func (e *endpoint) widen() {
	c := e.client
	c.mu.Lock()
	defer c.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.closed || e.slots >= c.cfg.Conns || e.slots > len(*e.conns.Load()) {
		return // one is being opened
	}
	e.slots++
	c.tasks.Go(func() { e.keep(false) })
}

// keep is the goroutine of a connection. first is set for the one that is always there.
func (e *endpoint) keep(first bool) {
	defer func() {
		e.mu.Lock()
		e.slots--
		e.mu.Unlock()
	}()
	for failures := 0; e.ctx.Err() == nil; {
		opened := time.Now()
		c, err := e.dial()
		if err == nil {
			e.serve(c, first)
			if err = c.Err(); time.Since(opened) > e.backoff(failures) {
				failures = 0
			}
		}
		switch {
		case !first:
			return
		case c != nil && failures == 0:
			failures = 1 // connect again at once: the server may have drained this connection only
			continue
		}
		e.failed(err)
		e.sleep(jitter(e.backoff(failures)))
		failures++
	}
}

// backoff returns the mean pause after a number of failures in a row. A connection that lasts longer ends the row.
func (e *endpoint) backoff(failures int) time.Duration {
	cfg := e.client.cfg
	return min(cfg.MinBackoff<<min(failures, 10), cfg.MaxBackoff)
}

// dial opens a connection.
func (e *endpoint) dial() (*conn, error) {
	cfg := e.client.cfg
	ctx, cancel := context.WithTimeout(e.ctx, cfg.ConnectTimeout)
	defer cancel()
	opened, err := cfg.Protocol.Dial(ctx, e.transport, e.addr)
	if err != nil {
		return nil, fmt.Errorf("%s://%s: %w", e.transport.Scheme(), e.addr, err)
	}
	c := &conn{Conn: opened, endpoint: e, givenUp: make(chan struct{})}
	c.numbered, _ = opened.(call.Numbered)
	relayed, ok := opened.(call.Relayed)
	c.relayed = ok && relayed.Relayed()
	return c, nil
}

// serve makes c available to calls until it is closing, and closes it when its calls have ended.
func (e *endpoint) serve(c *conn, first bool) {
	e.change(func(all []*conn) []*conn { return append(all, c) })
	var checks sync.WaitGroup
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	if e.client.cfg.HealthInterval > 0 && first {
		checks.Go(func() { e.checkHealth(ctx, c) })
	}
	select {
	case <-c.Closing():
	case <-c.givenUp:
	case <-e.ctx.Done():
	}
	e.change(func(all []*conn) []*conn { return slices.DeleteFunc(all, func(x *conn) bool { return x == c }) })
	cancel()
	checks.Wait()
	e.client.tasks.Go(func() { _ = c.Close(e.client.ctx) }) // the calls have their errors
}

// change publishes other connections.
func (e *endpoint) change(f func([]*conn) []*conn) {
	e.mu.Lock()
	all := f(slices.Clone(*e.conns.Load()))
	e.conns.Store(&all)
	if len(all) > 0 {
		e.err = nil
	} else {
		e.lost = time.Now()
	}
	e.mu.Unlock()
	e.publish()
}

// failed notes why there is no connection.
func (e *endpoint) failed(err error) {
	e.mu.Lock()
	if e.err = err; err == nil {
		e.err = errors.New(e.addr + ": the server takes no calls")
	}
	e.mu.Unlock()
	e.publish()
}

// failure returns why calls cannot be made, or nil if it is not known yet. For as long as hope, a call had better wait: the server may
// just be starting again.
func (e *endpoint) failure() (hope time.Duration, failure error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.err == nil:
		return 0, e.unhealthy
	case e.lost.IsZero():
		return 0, e.err
	}
	return patience - time.Since(e.lost), e.err
}

// publish tells the balancer whether the endpoint is up, and waiting calls that something has changed.
func (e *endpoint) publish() {
	c := e.client
	c.mu.Lock()
	defer c.mu.Unlock()
	e.mu.Lock()
	up := e.unhealthy == nil && slices.ContainsFunc(*e.conns.Load(), func(c *conn) bool { return !c.closing() })
	e.mu.Unlock()
	if up == e.Down() && !e.Retired() {
		c.set.SetDown(&e.Endpoint, !up)
	}
	c.notify()
}

// sleep waits for d, or until the endpoint is removed.
func (e *endpoint) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.ctx.Done():
	}
}

// jitter returns a random duration between half and one and a half of d.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(max(d, 1))
}
