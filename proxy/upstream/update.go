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
// address that stays keeps its Endpoint. earlier are the endpoints of the cluster that this one replaces, which go on counting.
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
		if e == nil {
			e = &Endpoint{cluster: c, addr: at, pools: make([]loopPools, len(c.group.Loops()))}
			e.balanced.Init(c.set, e, found.Weight, found.Priority, earlier[at].balance())
			if c.startCheck != nil {
				c.startCheck(e)
			}
		} else {
			e.balanced.SetShare(found.Weight, found.Priority)
		}
		e.host.Store(&found.Name) // the name of this address may have changed
		all = append(all, &e.balanced)
	}
	gone = c.set.Replace(all)
	if len(c.awaited) > 0 {
		c.restore(c.awaited)
	}
	for _, e := range gone {
		c.ended(endpointOf(e), "its address is gone")
	}
	return gone
}
