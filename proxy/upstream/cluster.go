package upstream

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/loop"
)

// Errors of Pick.
var (
	ErrNoEndpoint = errors.New("upstream: no endpoint is up")
	ErrOverload   = errors.New("upstream: too many requests in flight: limits.requests")
)

// Cluster is servers that do the same.
type Cluster struct {
	cfg     Config // with defaults filled in
	group   *loop.Group
	log     *slog.Logger
	lookup  lookup
	probe   probe
	choose  func(*Cluster, *members, uint64, time.Duration, *Endpoint) *Endpoint
	servers []*server
	members atomic.Pointer[members]

	mu     sync.Mutex // of changes of members; a loop never waits for it
	closed bool
	watch  func(*Endpoint) // begins the health checks of an endpoint; nil while there are none

	_ line
	// turn counts the requests of round-robin.
	turn atomic.Uint64
	_    line
	// active counts the requests in flight, of all loops.
	active atomic.Int64
	_      line

	waiting atomic.Int64
	refused struct{ requests, connections, waiting atomic.Int64 }
	failed  struct{ lookups, checks atomic.Int64 }
}

// New makes a cluster for the loops of group, whose clock Pick and Done go by. It looks names up, for two seconds at most; one
// that is not found then is looked for again by Run. A nil log means slog.Default. What is wrong in c gives Errors. c is copied.
func New(c *Config, group *loop.Group, log *slog.Logger) (*Cluster, error) {
	return newCluster(c, group, log, systemLookup)
}

func newCluster(c *Config, group *loop.Group, log *slog.Logger, ask lookup) (*Cluster, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.Default()
	}
	cl := &Cluster{cfg: c.withDefaults(), group: group, log: log, lookup: ask}
	cl.choose = balances[cl.cfg.Balance]
	if cl.cfg.Health != nil {
		cl.probe = newProbe(cl.cfg.Health)
	}
	cl.rebuild(nil)
	var lookups sync.WaitGroup
	for _, each := range cl.cfg.Endpoints {
		s, err := parseAddress(each.Address)
		if err != nil {
			return nil, err
		}
		s.weight = uint64(each.Weight)
		cl.servers = append(cl.servers, s)
		if s.host != "" {
			lookups.Go(func() { cl.resolve(context.Background(), s) })
		}
	}
	lookups.Wait()
	cl.update()
	return cl, nil
}

// Config is what the cluster was made of, with defaults filled in. It is not to be changed.
func (c *Cluster) Config() *Config { return &c.cfg }

// Run looks names up and checks health until ctx ends. It is called once.
func (c *Cluster) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	for _, s := range c.servers {
		if s.host != "" {
			tasks.Go(func() { c.follow(ctx, s) })
		}
	}
	if c.cfg.Health != nil {
		c.startChecks(ctx, &tasks)
	}
	<-ctx.Done()
	c.stopChecks()
	tasks.Wait()
}

// Close retires all endpoints: their pools are told. Pick still works, for requests that began before; their connections are
// closed behind them. No loop may call it, as it waits for them.
func (c *Cluster) Close() {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if again {
		return
	}
	c.retire(c.members.Load().all)
}

// rebuild puts all in place as the cluster's endpoints, as they are now. mu is held, but in New.
func (c *Cluster) rebuild(all []*Endpoint) { c.members.Store(newMembers(all)) }

// retire tells endpoints that they are not the cluster's any more, and their pools.
func (c *Cluster) retire(gone []*Endpoint) {
	if len(gone) == 0 {
		return
	}
	c.mu.Lock()
	for _, e := range gone {
		e.retired.Store(true)
		if e.unwatch != nil {
			e.unwatch()
		}
	}
	c.mu.Unlock()
	for i, l := range c.group.Loops() {
		// A loop that has ended has no connections left to be closed.
		_ = l.PostWait(context.Background(), func() {
			for _, e := range gone {
				if p := e.pools[i]; p != nil {
					p.Retire()
				}
			}
		})
	}
}
