package proxy

import (
	"cmp"
	"slices"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// Snapshot is a copy of a proxy's counters at one moment.
type Snapshot struct {
	Now      time.Duration    // since the proxy began; an endpoint's Ejected is on this clock
	Bound    []Bound          // in the order of the configuration
	Traffic  traffic.Snapshot // listeners and routes
	Access   traffic.LogStats // of the access log there is now
	Clusters []upstream.Stats // by name
	Loops    []loop.Stats
}

// Bound is the bound address of a listener.
type Bound struct {
	Listener string // its name
	Protocol Protocol
	Address  string // with the port that was bound
}

// Snapshot copies the counters of all parts. It waits for each loop's turn to end.
func (p *Proxy) Snapshot() Snapshot {
	p.mu.Lock()
	s := Snapshot{Now: p.group.Now(), Bound: p.parts.bound()}
	for _, c := range p.parts.clusters {
		s.Clusters = append(s.Clusters, c.Snapshot())
	}
	if p.parts.access != nil {
		s.Access = p.parts.access.Stats()
	}
	p.mu.Unlock()
	slices.SortFunc(s.Clusters, func(a, b upstream.Stats) int { return cmp.Compare(a.Name, b.Name) })
	s.Traffic = p.metrics.Snapshot()
	_, s.Loops = p.group.Stats()
	return s
}
