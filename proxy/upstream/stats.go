package upstream

import (
	"time"

	"example.com/ferry/internal/balance"
)

// Stats is a snapshot of a cluster's counters.
type Stats struct {
	balance.Stats
	Name      string
	Endpoints []EndpointStats // in the order of the configuration

	TLS           bool               // the endpoints are reached over TLS
	TLSHandshakes int64              // number of handshakes, including TLSResumed
	TLSResumed    int64              // number of handshakes that resumed a session
	TLSFailed     [TLSFailures]int64 // number of failed connections by TLSFailure

	LookupsFailed int64
	LookupErr     error // why names are not found now; nil if they are
	ChecksFailed  int64 // number of failed health checks
}

// EndpointStats is a snapshot of an endpoint's counters. Its times are on the clock of Group.Now.
type EndpointStats struct {
	balance.EndpointStats
	Address string

	// LastErr is that of the last health check that failed if the endpoint is down, of the last request if it is ejected, otherwise the later
	// one. It is nil if there is none.
	LastErr   error
	LastErrAt time.Duration // when, on the clock of Group.Now
}

// Snapshot copies the counters. Any goroutine may call it. Requests continue during the copy, so two counters may
// differ by a request.
func (c *Cluster) Snapshot() Stats {
	s := Stats{
		Stats:         c.set.Stats(),
		Name:          c.cfg.Name,
		LookupsFailed: c.failed.lookups.Load(),
		LookupErr:     c.LookupErr(),
		ChecksFailed:  c.failed.checks.Load(),
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
	s := EndpointStats{EndpointStats: e.balanced.Stats(now), Address: e.addr.String()}
	if last := e.failing.lastError(!s.Healthy, s.Ejected != 0); last != nil {
		s.LastErr, s.LastErrAt = last.err, last.at
	}
	return s
}

// LookupErr returns why names are not found now, nil if they are. The endpoints that were found before stay in use.
func (c *Cluster) LookupErr() error { return c.service.Err() }
