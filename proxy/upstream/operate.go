package upstream

import (
	"errors"
	"fmt"
)

// What an operator changes while the cluster runs belongs to its endpoints: it ends when an endpoint's address is gone. It passes to the cluster
// that replaces this one, and at an upgrade to the next process.

// The errors of changes by an operator.
var (
	ErrUnknownEndpoint = errors.New("upstream: the cluster has no endpoint with this address")
	ErrWeight          = errors.New("upstream: a weight is 1 to 1000, or 0 for that of the configuration")
)

// Change is what a change by an operator has made of an endpoint.
type Change struct {
	Endpoint  EndpointStats
	Available int // number of endpoints of the cluster that get requests now
}

// SetDrained decides whether the endpoint at address gets requests. Requests that have begun go on, and so do tunnels. If no endpoint is
// left, Pick gives ErrNoEndpoint.
func (c *Cluster) SetDrained(address string, drained bool) (Change, error) {
	return c.change(address, func(e *Endpoint) { e.balanced.SetDrained(drained) })
}

// SetWeight gives the endpoint at address a weight of 1 to 1000; 0 means that of the configuration again.
func (c *Cluster) SetWeight(address string, weight int) (Change, error) {
	if weight < 0 || weight > maxWeight {
		return Change{}, fmt.Errorf("%w: not %d", ErrWeight, weight)
	}
	return c.change(address, func(e *Endpoint) { e.balanced.SetWeight(weight) })
}

// change applies f to the endpoint at address.
func (c *Cluster) change(address string, f func(*Endpoint)) (Change, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, each := range c.set.All() {
		if e := endpointOf(each); e.addr.String() == address {
			f(e)
			return Change{e.stats(c.group.Now()), c.set.Available()}, nil
		}
	}
	return Change{}, fmt.Errorf("%w: %s", ErrUnknownEndpoint, address)
}

// ended logs that e no longer has what an operator has set: it may get requests that the operator wants to keep from it.
func (c *Cluster) ended(e *Endpoint, why string) {
	if s := e.balanced.Stats(0); s.Drained || s.Weight != s.Configured {
		c.log.Warn("upstream: what an operator has set for an endpoint has ended: set it again if it is needed", "cluster", c.cfg.Name, "endpoint", e.addr.String(), "drained", s.Drained, "weight", s.Weight, "reason", why)
	}
}
