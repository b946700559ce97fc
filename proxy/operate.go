package proxy

import (
	"errors"
	"fmt"

	"example.com/ferry/proxy/upstream"
)

// ErrUnknownCluster means that the configuration has no cluster of this name.
var ErrUnknownCluster = errors.New("proxy: no cluster has this name")

// DrainEndpoint decides whether an endpoint of a cluster gets requests. Requests in flight go on. It holds until
// the address is gone, over reloads and upgrades.
// The errors are ErrUnknownCluster and upstream.ErrUnknownEndpoint.
func (p *Proxy) DrainEndpoint(cluster, address string, drained bool) (upstream.Change, error) {
	c, err := p.cluster(cluster)
	if err != nil {
		return upstream.Change{}, err
	}
	done, err := c.SetDrained(address, drained)
	if err == nil {
		p.log.Info("an endpoint was drained, or undrained, by an operator", "cluster", cluster, "endpoint", address, "drained", drained, "available", done.Available)
	}
	return done, err
}

// WeighEndpoint gives an endpoint of a cluster a weight of 1 to 1000; 0 means that of the configuration again. It holds
// until the address is gone, over reloads and upgrades. The errors are ErrUnknownCluster, upstream.ErrUnknownEndpoint and upstream.ErrWeight.
func (p *Proxy) WeighEndpoint(cluster, address string, weight int) (upstream.Change, error) {
	c, err := p.cluster(cluster)
	if err != nil {
		return upstream.Change{}, err
	}
	done, err := c.SetWeight(address, weight)
	if err == nil {
		p.log.Info("the weight of an endpoint was changed by an operator", "cluster", cluster, "endpoint", address, "weight", done.Endpoint.Weight)
	}
	return done, err
}

// cluster returns the running cluster of a name.
func (p *Proxy) cluster(name string) (*upstream.Cluster, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.parts.clusters[name]
	if c == nil {
		return nil, fmt.Errorf("%w: %s", ErrUnknownCluster, name)
	}
	return c.Cluster, nil
}
