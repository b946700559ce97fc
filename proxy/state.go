package proxy

import (
	"fmt"
	"time"

	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// State is what a proxy has found out and an operator has set while it ran, for the process that replaces this one.
type State struct {
	Clusters map[string]map[string]upstream.EndpointState `json:",omitempty"` // by name and address
	// Buckets has the time until the rate limit of a route is full again, by the listener, the place and the name of the route.
	Buckets map[string]time.Duration `json:",omitempty"`
}

// State returns the state of p.
func (p *Proxy) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{Clusters: map[string]map[string]upstream.EndpointState{}, Buckets: map[string]time.Duration{}}
	for name, c := range p.parts.clusters {
		if states := c.States(); len(states) > 0 {
			s.Clusters[name] = states
		}
	}
	for key, b := range p.parts.buckets {
		if debt := b.Debt(p.group.Now()); debt > 0 {
			s.Buckets[key] = debt
		}
	}
	return s
}

// buckets yields the rate limits of all routes, with the names that State gives them.
func (p *parts) buckets(yield func(key string, b *route.Bucket) bool) {
	for i := range p.cfg.Listeners {
		for at, r := range p.tables[i].Routes() {
			if r.Bucket != nil && !yield(fmt.Sprintf("%s %d %s", p.cfg.Listeners[i].name(), at, r.Name), r.Bucket) {
				return
			}
		}
	}
}

// inherit gives the rate limits of p what those of the process before have. The states of endpoints are those of new clusters.
func (p *Proxy) inherit() {
	for key, b := range p.parts.buckets {
		if debt := p.inherited.Buckets[key]; debt > 0 {
			b.Owe(p.group.Now(), debt)
		}
	}
	p.inherited = State{}
}
