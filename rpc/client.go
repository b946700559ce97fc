package rpc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/internal/discovery"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
	"example.com/ferry/transport"
)

// Client calls the methods of servers. It keeps connections to all endpoints of its target and spreads calls over them. All methods
// and functions that take a Client may overlap.
type Client struct {
	cfg       *ClientConfig
	content   *envelope.Content // of ClientConfig.Content
	transport transport.Transport
	service   *discovery.Service
	set       *balance.Set
	start     time.Time // zero of the clock that now reads
	retries   *balance.Budget
	hedges    *balance.Budget // nil without Hedge
	methods   methodTable
	ids       atomic.Uint64 // ids of envelopes on connections that have no numbers of their own

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	onClose func() // called by Close, after the connections are closed; nil means nothing

	mu        sync.Mutex
	endpoints map[endpointKey]*endpoint
	sought    sought
	changed   chan struct{} // closed when an endpoint appears, disappears, connects or fails
	closed    bool
}

// Dial returns a Client of the servers that target names. The scheme is that of one of ClientConfig.Transports.
//
//	tcp://HOST:PORT            one server, or several: tcp://HOST:PORT,HOST:PORT
//	dns+tcp://NAME:PORT        all addresses of a name, followed as they change
//	srv+tcp://_rpc._tcp.NAME   the servers that SRV records name, followed as they change
//	file+tcp:///PATH           the servers listed in a file, an address in each line, watched
//	tcp://                     the servers that ClientConfig.Sources find
//
// Dial waits until the first connection is open. If no endpoint can be reached, or ctx ends, it returns an error; with WaitForReady it
// does not wait. The Client lasts until Close, whatever becomes of ctx.
func Dial(ctx context.Context, target string, cfg *ClientConfig) (*Client, error) {
	return dial(ctx, target, cfg, nil)
}

// dial is Dial with another resolver of names.
func dial(ctx context.Context, target string, cfg *ClientConfig, names discovery.Resolver) (*Client, error) {
	d, content, err := cfg.check()
	if err != nil {
		return nil, err
	}
	tr, sources, err := parseTarget(target, d, &discovery.Options{Resolver: names})
	if err != nil {
		return nil, err
	}
	c := &Client{
		cfg: d, content: content, transport: tr, start: time.Now(),
		retries:   balance.NewBudget(balance.RetryBudget{Ratio: d.Retry.Ratio, MinPerSecond: d.Retry.MinPerSecond}),
		endpoints: make(map[endpointKey]*endpoint), changed: make(chan struct{}),
	}
	if d.Hedge != nil {
		c.hedges = balance.NewBudget(balance.RetryBudget{Ratio: d.Hedge.MaxExtra, MinPerSecond: -1})
	}
	outlier := d.Outlier
	if outlier.Failures == NoEjection.Failures {
		outlier = nil
	}
	c.set = balance.New(&balance.Config{Policy: d.Policy, Limits: d.Limits, Outlier: outlier}, nil)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.service = discovery.New(&discovery.Config{Sources: sources, Log: d.Log.With("target", target)})
	c.replaceEndpoints()
	c.tasks.Go(func() { c.service.Run(c.ctx, c.replaceEndpoints) })
	if d.WaitForReady {
		return c, nil
	}
	if status := c.awaitEndpoint(ctx, time.Time{}, false); status != nil {
		c.Close()
		return nil, fmt.Errorf("rpc: dial %s: %w", target, status)
	}
	return c, nil
}

// now returns the time on the client's clock.
func (c *Client) now() time.Duration { return time.Since(c.start) }

// Close closes all connections. Calls in progress fail with Unavailable, and so do later ones.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.tasks.Wait()
	c.set.Close()
	if c.onClose != nil {
		c.onClose()
	}
	return nil
}

// notify wakes the calls that wait for an endpoint. The caller holds mu.
func (c *Client) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// pick chooses a connection for a call and counts the call as active there. The caller must call done of the connection once. If none
// is ready, pick waits while one may become ready: until every endpoint has failed to connect, or with wait until the call's
// deadline.
func (c *Client) pick(ctx context.Context, deadline time.Time, wait bool, avoid *balance.Endpoint) (*conn, *call.Status) {
	for {
		chosen, err := c.set.Pick(rand.Uint64(), c.now(), avoid)
		switch {
		case errors.Is(err, balance.ErrOverload):
			return nil, statusf(call.ResourceExhausted, "overloaded: too many calls in progress, which ClientConfig.Limits.Requests bounds")
		case err == nil:
			e := chosen.Value.(*endpoint)
			if conn := e.conn(); conn != nil {
				return conn, nil
			}
			chosen.Done(balance.Canceled, balance.OwnRequest, 0, c.now())
			e.publish() // all of its connections are closing: it is down until there is another one
			continue
		}
		if status := c.awaitEndpoint(ctx, deadline, wait); status != nil {
			return nil, status
		}
	}
}

// pickOther chooses a connection as pick does, to another endpoint than avoid. If there is none now, the result is nil.
func (c *Client) pickOther(avoid *balance.Endpoint) *conn {
	chosen, err := c.set.Pick(rand.Uint64(), c.now(), avoid)
	if err != nil {
		return nil
	}
	if chosen != avoid {
		if conn := chosen.Value.(*endpoint).conn(); conn != nil {
			return conn
		}
	}
	chosen.Done(balance.Canceled, balance.OwnRequest, 0, c.now())
	return nil
}

// awaitEndpoint waits until an endpoint is up.
func (c *Client) awaitEndpoint(ctx context.Context, deadline time.Time, wait bool) *call.Status {
	var expired <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		expired = timer.C
	}
	for {
		c.mu.Lock()
		changed, closed := c.changed, c.closed
		ready := c.readiness()
		c.mu.Unlock()
		switch {
		case closed:
			return statusf(call.Unavailable, "the client is closed")
		case ready.up:
			return nil
		case !ready.possible && !wait:
			return statusf(call.Unavailable, "no endpoint is connected: %v", ready.reason)
		}
		var again <-chan time.Time
		if ready.until > 0 && !wait {
			again = time.After(ready.until)
		}
		select {
		case <-changed:
		case <-again:
		case <-c.ctx.Done():
		case <-ctx.Done():
			return call.StatusOf(ctx.Err())
		case <-expired:
			return statusf(call.DeadlineExceeded, "the deadline passed while the call waited for a connection: %v", ready.reason)
		}
	}
}

// readiness is what a call may expect that finds no endpoint.
type readiness struct {
	up       bool          // an endpoint is up after all
	possible bool          // one may soon be
	reason   error         // why none is
	until    time.Duration // for how long possible is valid if nothing changes; 0 means without end
}

// readiness looks at all endpoints. The caller holds mu.
func (c *Client) readiness() readiness {
	for _, e := range c.endpoints {
		if !e.Down() {
			return readiness{up: true}
		}
	}
	r := readiness{possible: c.sought.seeking, reason: c.sought.missing()}
	for _, e := range c.endpoints {
		hope, failure := e.failure()
		if failure == nil {
			return readiness{possible: true, reason: errors.New("connecting to " + e.addr)}
		}
		if r.reason = failure; hope > 0 && !c.sought.seeking {
			r.possible, r.until = true, max(r.until, hope)
		}
	}
	return r
}
