package calls

import (
	"cmp"
	"slices"

	"example.com/ferry/broker/stats"
)

// ServiceStats is the state of one service that clients offer, and the calls to it since the node has started.
type ServiceStats struct {
	Name      string
	Instances int               // clients that offer it
	Active    int               // calls in progress, with those that wait
	Waiting   int               // calls that wait until an instance is free
	Codes     [callCodes]uint64 // calls that have ended, by the code of gRPC; the node counts other codes as 2
	Latency   stats.Latency     // time from CALL to REPLY at the node
}

// count counts a call that has ended after ns nanoseconds.
func (s *ServiceStats) count(code uint32, ns int64) {
	s.Active--
	if code >= callCodes {
		code = codeUnknown
	}
	s.Codes[code]++
	s.Latency.Count(ns, 1)
}

// Add adds the instances and the calls of another service.
func (s *ServiceStats) Add(o *ServiceStats) {
	s.Instances += o.Instances
	s.Active += o.Active
	s.Waiting += o.Waiting
	for i, n := range o.Codes {
		s.Codes[i] += n
	}
	s.Latency.Add(&o.Latency)
}

// Services returns the services that clients offer or have offered, sorted by name. The one without a name has the calls to all
// services that no client has offered.
func (rt *Router) Services() []ServiceStats {
	rt.mu.Lock()
	list := make([]ServiceStats, 0, 1+len(rt.services))
	list = append(list, rt.lost)
	for _, s := range rt.services {
		v := s.stats
		v.Instances, v.Waiting = len(s.instances), s.waiting.Len()
		list = append(list, v)
	}
	rt.mu.Unlock()
	slices.SortFunc(list, func(a, b ServiceStats) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
