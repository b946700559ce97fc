package balance

import "time"

// Stats is a snapshot of a set's counters.
type Stats struct {
	Active  int64 // number of requests in flight
	Waiting int64 // number of requests that wait for a connection

	RefusedRequests    int64 // requests refused by limits.requests
	RefusedConnections int64 // connections refused by limits.connections
	RefusedWaiting     int64 // requests refused by limits.waiting
}

// EndpointStats is a snapshot of an endpoint's counters.
type EndpointStats struct {
	Weight     int
	Configured int // the weight without SetWeight
	Drained    bool
	Healthy    bool            // result of the active health checks; true if there are none
	Ejected    time.Duration   // end of the ejection on the caller's clock; 0 if not ejected
	Active     int64           // number of requests in flight
	Conns      int64           // number of connections, including those that are being opened
	Outcomes   [Outcomes]int64 // number of requests by Outcome
	Ejections  int64           // number of ejections so far
	Downs      int64           // number of changes from up to down
	Latency    time.Duration   // moving average of the latency; 0 before the first request
}

// Stats copies the counters. Requests continue during the copy, so two counters may differ by a request.
func (s *Set) Stats() Stats {
	return Stats{
		Active:             s.active.Load(),
		Waiting:            s.waiting.Load(),
		RefusedRequests:    s.refused.requests.Load(),
		RefusedConnections: s.refused.connections.Load(),
		RefusedWaiting:     s.refused.waiting.Load(),
	}
}

// Stats copies the counters. Requests continue during the copy, so two counters may differ by a request. now is the caller's
// clock.
func (e *Endpoint) Stats(now time.Duration) EndpointStats {
	s := EndpointStats{
		Weight:     int(e.weight.Load()),
		Configured: int(e.configured.Load()),
		Drained:    e.drained.Load(),
		Healthy:    !e.down.Load(),
		Active:     e.load.active(),
		Conns:      e.conns.Load(),
		Ejections:  e.ejections.Load(),
		Downs:      e.timesDown.Load(),
		Latency:    e.latency.lastAverage(),
	}
	if out := time.Duration(e.ejectedUntil.Load()); out > now {
		s.Ejected = out
	}
	for o := range s.Outcomes {
		s.Outcomes[o] = e.outcomes[o].Load()
	}
	s.Outcomes[Success] = e.load.succeeded()
	return s
}
