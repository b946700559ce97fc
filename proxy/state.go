package proxy

import "example.com/ferry/proxy/upstream"

// State is what a proxy has found out and an operator has set while it ran, for the process that replaces this one.
type State struct {
	Clusters map[string]map[string]upstream.EndpointState `json:",omitempty"` // by name and address
}

// State returns the state of p.
func (p *Proxy) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{Clusters: map[string]map[string]upstream.EndpointState{}}
	for name, c := range p.parts.clusters {
		if states := c.States(); len(states) > 0 {
			s.Clusters[name] = states
		}
	}
	return s
}
