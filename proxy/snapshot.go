package proxy

import (
	"cmp"
	"slices"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/overload"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// Snapshot is a copy of a proxy's counters at one moment.
type Snapshot struct {
	Now      time.Duration    // time since the proxy began; EndpointStats.Ejected is on the same clock
	Bound    []Bound          // in the order of the configuration
	Traffic  traffic.Snapshot // counters of listeners and routes
	Access   traffic.LogStats // counters of the current access log
	Clusters []upstream.Stats // sorted by name
	Loops    []loop.Stats

	Overload   overload.Stats
	IdleClosed uint64 // idle connections that the overload manager has closed
}

// Bound is the bound address of a listener.
type Bound struct {
	Listener string // name of the listener
	Protocol Protocol
	Address  string // bound address, including the actual port
}

// Overload returns what is shed at present. It does not wait.
func (p *Proxy) Overload() overload.Level { return p.overload.State().Level() }

// Snapshot copies all counters. It waits until each loop has finished its current turn.
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
	s.Overload, s.IdleClosed = p.overload.Stats(), p.shedder.closed.Load()
	return s
}

// Unresolved returns the names of the clusters that do not find the names of their endpoints now.
func (p *Proxy) Unresolved() (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, c := range p.parts.clusters {
		if c.LookupErr() != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
