package upstream

import "time"

// Stats is a snapshot of a cluster's counters.
type Stats struct {
	Name      string
	Endpoints []EndpointStats // in the order of the configuration
	Active    int64           // number of requests in flight
	Waiting   int64           // number of requests that wait for a connection

	RefusedRequests    int64 // requests refused by limits.requests
	RefusedConnections int64 // connections refused by limits.connections
	RefusedWaiting     int64 // requests refused by limits.waiting

	TLS           bool               // the endpoints are reached over TLS
	TLSHandshakes int64              // number of handshakes, including TLSResumed
	TLSResumed    int64              // number of handshakes that resumed a session
	TLSFailed     [TLSFailures]int64 // number of failed connections by TLSFailure

	LookupsFailed int64
	LookupErr     error // why names are not found now; nil if they are
	ChecksFailed  int64 // number of failed health checks
}

// EndpointStats is a snapshot of an endpoint's counters.
type EndpointStats struct {
	Address    string
	Weight     int
	Configured int             // the weight without Cluster.SetWeight
	Drained    bool            // by Cluster.SetDrained
	Healthy    bool            // result of the active health checks; true if there are none
	Ejected    time.Duration   // end of the ejection on the clock of Group.Now; 0 if not ejected
	Active     int64           // number of requests in flight
	Conns      int64           // number of connections, including those that are being opened
	Outcomes   [Outcomes]int64 // number of requests by Outcome
	Ejections  int64           // number of ejections so far
	Downs      int64           // number of changes from up to down
	Latency    time.Duration   // moving average of the latency; 0 before the first request

	// LastErr is that of the last health check that failed if the endpoint is down, of the last request if it is ejected, otherwise the later
	// one. It is nil if there is none.
	LastErr   error
	LastErrAt time.Duration // when, on the clock of Group.Now
}

// Snapshot copies the counters. Any goroutine may call it. Requests continue during the copy, so two counters may
// differ by a request.
func (c *Cluster) Snapshot() Stats {
	of := c.set.Stats()
	s := Stats{
		Name:               c.cfg.Name,
		Active:             of.Active,
		Waiting:            of.Waiting,
		RefusedRequests:    of.RefusedRequests,
		RefusedConnections: of.RefusedConnections,
		RefusedWaiting:     of.RefusedWaiting,
		LookupsFailed:      c.failed.lookups.Load(),
		LookupErr:          c.LookupErr(),
		ChecksFailed:       c.failed.checks.Load(),
	}
	if t := c.tls; t != nil {
		s.TLS, s.TLSResumed, s.TLSHandshakes = true, t.resumed.Load(), t.handshakes.Load()
		for why := range s.TLSFailed {
			s.TLSFailed[why] = t.failures[why].Load()
		}
	}
	now := c.group.Now()
	for _, e := range c.set.All() {
		s.Endpoints = append(s.Endpoints, endpointOf(e).stats(now))
	}
	return s
}

// stats copies the counters of e. now is the clock of the group.
func (e *Endpoint) stats(now time.Duration) EndpointStats {
	one := e.balanced.Stats(now)
	s := EndpointStats{
		Address:    e.addr.String(),
		Weight:     one.Weight,
		Configured: one.Configured,
		Drained:    one.Drained,
		Healthy:    one.Healthy,
		Ejected:    one.Ejected,
		Active:     one.Active,
		Conns:      one.Conns,
		Outcomes:   one.Outcomes,
		Ejections:  one.Ejections,
		Downs:      one.Downs,
		Latency:    one.Latency,
	}
	if last := e.failing.lastError(!one.Healthy, one.Ejected != 0); last != nil {
		s.LastErr, s.LastErrAt = last.err, last.at
	}
	return s
}

// LookupErr returns why names are not found now, nil if they are. The endpoints that were found before stay in use.
func (c *Cluster) LookupErr() error { return c.service.Err() }
