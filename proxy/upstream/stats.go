package upstream

import "time"

// Stats is a cluster's numbers.
type Stats struct {
	Name      string
	Endpoints []EndpointStats // in the order of the configuration
	Active    int64           // requests in flight
	Waiting   int64           // requests that wait for a connection

	RefusedRequests    int64 // by limits.requests
	RefusedConnections int64 // by limits.connections
	RefusedWaiting     int64 // by limits.waiting

	LookupsFailed int64
	ChecksFailed  int64 // of health
}

// EndpointStats is an endpoint's numbers.
type EndpointStats struct {
	Address   string
	Weight    int
	Healthy   bool            // as active checks say; true if there are none
	Ejected   time.Duration   // until when, on the clock of Group.Now; 0 if it is not
	Active    int64           // requests in flight
	Conns     int64           // connections, those being opened included
	Outcomes  [Outcomes]int64 // of requests, by Outcome
	Ejections int64           // how often it was ejected
	Downs     int64           // how often it went from healthy to not
	Latency   time.Duration   // the average as EWMA sees it; 0 if there was no request yet
}

// Snapshot collects the numbers. Any goroutine may call it; requests go on meanwhile, so numbers may be a request apart.
func (c *Cluster) Snapshot() Stats {
	s := Stats{
		Name:               c.cfg.Name,
		Active:             c.active.Load(),
		Waiting:            c.waiting.Load(),
		RefusedRequests:    c.refused.requests.Load(),
		RefusedConnections: c.refused.connections.Load(),
		RefusedWaiting:     c.refused.waiting.Load(),
		LookupsFailed:      c.failed.lookups.Load(),
		ChecksFailed:       c.failed.checks.Load(),
	}
	now := c.group.Now()
	for _, e := range c.members.Load().all {
		one := EndpointStats{
			Address:   e.addr.String(),
			Weight:    int(e.weight),
			Healthy:   !e.down.Load(),
			Active:    e.load.active(),
			Conns:     e.conns.Load(),
			Ejections: e.ejections.Load(),
			Downs:     e.downs.Load(),
			Latency:   e.latency.last(),
		}
		if out := time.Duration(e.out.Load()); out > now {
			one.Ejected = out
		}
		for o := range one.Outcomes {
			one.Outcomes[o] = e.outcomes[o].Load()
		}
		one.Outcomes[Success] = e.load.succeeded()
		s.Endpoints = append(s.Endpoints, one)
	}
	return s
}
