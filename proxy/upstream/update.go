package upstream

import (
	"example.com/ferry/internal/balance"
	"example.com/ferry/internal/discovery"
	"example.com/ferry/loop"
)

// source returns where the endpoints of an EndpointConfig are found. It looks nothing up.
func (e *EndpointConfig) source(o *discovery.Options) (discovery.Source, error) {
	switch {
	case e.SRV != "":
		return discovery.SRV(e.SRV, o), nil
	case e.File != "":
		return discovery.File(e.File), nil
	}
	return discovery.Address(e.Address, e.Weight, o)
}

// update creates an endpoint for each new address of the service, and returns the endpoints whose address is gone. An
// address that stays keeps its Endpoint; with another weight or priority it gets a new one, which goes on counting. earlier
// are the endpoints of the cluster that this one replaces.
func (c *Cluster) update(earlier map[loop.Addr]*Endpoint) (gone []*balance.Endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	before := c.byAddress()
	var all []*balance.Endpoint
	for _, found := range c.service.Endpoints() {
		at, err := loop.ParseAddr(found.Addr)
		if err != nil {
			c.log.Error("upstream: an endpoint has an invalid address", "cluster", c.cfg.Name, "addr", found.Addr, "err", err)
			continue
		}
		e := before[at]
		if e == nil || e.balanced.Weight() != found.Weight || e.balanced.Priority() != found.Priority {
			counted := e
			if counted == nil {
				counted = earlier[at]
			}
			e = &Endpoint{cluster: c, addr: at, pools: make([]loopPools, len(c.group.Loops()))}
			e.balanced.Init(c.set, e, found.Weight, found.Priority, counted.balance())
			if c.startCheck != nil {
				c.startCheck(e)
			}
		}
		e.host.Store(&found.Name) // the name of this address may have changed
		all = append(all, &e.balanced)
	}
	return c.set.Replace(all)
}
