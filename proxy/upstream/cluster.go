package upstream

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/internal/discovery"
	"example.com/ferry/loop"
)

// The errors of Pick.
var (
	ErrNoEndpoint = balance.ErrNoEndpoint
	ErrOverload   = balance.ErrOverload
)

// Cluster is a set of equivalent endpoints.
type Cluster struct {
	cfg     Config // configuration with defaults filled in
	group   *loop.Group
	log     *slog.Logger
	tls     *clusterTLS // nil in cleartext
	probe   probe
	set     *balance.Set
	budgets []*balance.Budget // of the loops; empty unless servers may refuse streams
	service *discovery.Service

	mu         sync.Mutex // guards the fields below and changes of set; loops do not lock it
	closed     bool
	awaited    map[string]EndpointState // of addresses that no lookup has found yet
	startCheck func(*Endpoint)          // starts the health checks of an endpoint; nil until Run enables checks

	*counters
}

// New creates a cluster for the loops of group. The times passed to Pick and Done must come from the group's clock.
// New looks names up for at most two seconds; Run retries the failed lookups. A nil log means slog.Default. If c is
// invalid, the error is an Errors. New copies c.
func New(c *Config, group *loop.Group, log *slog.Logger) (*Cluster, error) {
	return NewShared(c, group, log, Shared{})
}

// NewShared is New for a cluster that shares its resources with others.
func NewShared(c *Config, group *loop.Group, log *slog.Logger, shared Shared) (*Cluster, error) {
	return newCluster(c, group, log, shared, nil)
}

func newCluster(c *Config, group *loop.Group, log *slog.Logger, shared Shared, names discovery.Resolver) (_ *Cluster, err error) {
	if err = c.Check(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.Default()
	}
	cl := &Cluster{cfg: c.withDefaults(), group: group, log: log, counters: &counters{}}
	var before map[loop.Addr]*Endpoint
	var setBefore *balance.Set
	if shared.Before != nil {
		cl.counters, before, setBefore = shared.Before.counters, shared.Before.byAddress(), shared.Before.set
		cl.budgets = shared.Before.budgets
	}
	if p := cl.cfg.Protocol; cl.budgets == nil && (p == HTTP2 || p == Auto) {
		for range group.Loops() {
			cl.budgets = append(cl.budgets, balance.NewBudget(balance.RetryBudget{}))
		}
	}
	cl.set = balance.New(&balance.Config{Policy: cl.cfg.Balance, Limits: cl.cfg.Limits, Outlier: cl.cfg.Outlier}, setBefore)
	if cl.cfg.TLS != nil {
		if cl.tls, err = newClusterTLS(cl.cfg.TLS, shared, len(group.Loops()), &cl.counters.tls); err != nil {
			return nil, fmt.Errorf("upstream: tls: %w", err)
		}
		if cl.cfg.TLS.InsecureSkipVerify {
			log.Warn("upstream: tls.insecure_skip_verify: the servers' certificates are not verified", "cluster", cl.cfg.Name)
		}
	}
	if cl.cfg.Health != nil {
		cl.probe = newProbe(cl.cfg.Health)
	}
	found := discovery.Config{Log: log.With("cluster", cl.cfg.Name), Failed: &cl.failed.lookups}
	for i := range cl.cfg.Endpoints {
		src, err := cl.cfg.Endpoints[i].source(&discovery.Options{Interval: cl.cfg.ResolveInterval, Resolver: names})
		if err != nil {
			return nil, err
		}
		found.Sources = append(found.Sources, src)
	}
	cl.service = discovery.New(&found)
	if shared.Before != nil {
		cl.service.Inherit(shared.Before.service)
	}
	cl.service.Find(context.Background())
	cl.awaited = shared.States
	cl.update(before)
	return cl, nil
}

// Config returns the configuration with all defaults set. The caller must not change it.
func (c *Cluster) Config() *Config { return &c.cfg }

// Run follows names, SRV records and files, and checks health until ctx ends. It is called once.
func (c *Cluster) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	tasks.Go(func() {
		c.service.Run(ctx, func() { c.retire(c.update(nil)) })
	})
	if c.cfg.Health != nil {
		c.startChecks(ctx, &tasks)
	}
	<-ctx.Done()
	c.stopChecks()
	tasks.Wait()
}

// Close retires all endpoints and their pools. Requests that have already begun may still call Pick; their
// connections are closed when they end. Close waits for the loops, so it must not be called on a loop.
func (c *Cluster) Close() {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if again {
		return
	}
	c.set.Close()
	c.retire(c.set.All())
	if c.tls != nil {
		c.tls.files.Close()
	}
}

// Pick chooses an endpoint for a request and counts the request as active. The caller must call Done once. random is
// 64 random bits, and now is the loop's clock. avoid is an endpoint that has just failed: Pick returns it only if
// there is no other. The errors are ErrNoEndpoint and ErrOverload.
//
// Pick skips endpoints that are drained, down or ejected, and then those of another than the lowest priority number that is left. If
// all healthy endpoints are ejected, Pick uses them anyway. If all endpoints are drained or down, the error is ErrNoEndpoint.
func (c *Cluster) Pick(random uint64, now time.Duration, avoid *Endpoint) (*Endpoint, error) {
	e, err := c.set.Pick(random, now, avoid.balance())
	if err != nil {
		return nil, err
	}
	return endpointOf(e), nil
}

// Budget returns the retry budget of the requests of a loop whose routes have no retry policy. It is nil if the servers do not speak HTTP/2.
func (c *Cluster) Budget(loop int) *balance.Budget {
	if c.budgets == nil {
		return nil
	}
	return c.budgets[loop]
}

// Available returns how many endpoints get requests now.
func (c *Cluster) Available() int { return c.set.Available() }

// Wait counts a request that waits for a connection. It reports whether limits.waiting allows the request to wait. If
// so, the caller must call Unwait when the wait has ended. Any loop may call both.
func (c *Cluster) Wait() bool { return c.set.Wait() }

// Unwait undoes Wait.
func (c *Cluster) Unwait() { c.set.Unwait() }

// retire stops the health checks of retired endpoints, and retires their pools.
func (c *Cluster) retire(gone []*balance.Endpoint) {
	if len(gone) == 0 {
		return
	}
	c.mu.Lock()
	for _, e := range gone {
		if stop := endpointOf(e).stopChecks; stop != nil {
			stop()
		}
	}
	c.mu.Unlock()
	for i, l := range c.group.Loops() {
		// PostWait returns an error if the loop has ended. Such a loop has no connections left.
		_ = l.PostWait(context.Background(), func() {
			for _, e := range gone {
				for _, p := range endpointOf(e).pools[i] {
					if p != nil {
						p.Retire()
					}
				}
			}
		})
	}
}
