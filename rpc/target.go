package rpc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ferry/internal/balance"
	"example.com/ferry/internal/discovery"
	"example.com/ferry/transport"
)

// parseTarget returns the transport that a target names, and the sources of its endpoints.
func parseTarget(target string, cfg *ClientConfig, o *discovery.Options) (transport.Transport, []Source, error) {
	scheme, rest, ok := strings.Cut(target, "://")
	how, under, found := strings.Cut(scheme, "+")
	if found {
		scheme = under
	} else {
		how = ""
	}
	sources := slices.Clone(cfg.Sources)
	if !ok || rest == "" && (how != "" || len(sources) == 0) {
		return nil, nil, fmt.Errorf("rpc: target %q: write SCHEME://ADDRESS", target)
	}
	i := slices.IndexFunc(cfg.Transports, func(t transport.Transport) bool { return t.Scheme() == scheme })
	if i < 0 {
		var schemes []string
		for _, t := range cfg.Transports {
			schemes = append(schemes, t.Scheme())
		}
		return nil, nil, fmt.Errorf("rpc: target %s: no transport has the scheme %s: ClientConfig.Transports has %s", target, scheme, strings.Join(schemes, ", "))
	}
	switch how {
	case "":
		var listed []Endpoint
		for addr := range strings.SplitSeq(rest, ",") {
			if addr != "" {
				listed = append(listed, Endpoint{Addr: addr, Weight: 1})
			}
		}
		sources = append(sources, discovery.Static(listed...))
	case "dns":
		for addr := range strings.SplitSeq(rest, ",") {
			source, err := discovery.Address(addr, 1, o)
			if err != nil {
				return nil, nil, fmt.Errorf("rpc: target %s: %w", target, err)
			}
			sources = append(sources, source)
		}
	case "srv":
		sources = append(sources, discovery.SRV(rest, o))
	case "file":
		sources = append(sources, discovery.File(rest))
	default:
		return nil, nil, fmt.Errorf("rpc: target %s: %s is no way to find endpoints: write dns+, srv+, file+, or none of them", target, how)
	}
	return cfg.Transports[i], sources, nil
}

// endpointKey identifies an endpoint. One with another name to verify is another one, with connections of its own.
type endpointKey struct{ addr, name string }

// sought is what the sources of a client have said at the last change of its endpoints. Client.mu protects it.
type sought struct {
	source  string // one that has neither found endpoints nor failed so far
	seeking bool   // there is such a source
	err     error  // why others find no endpoints
}

// missing returns why there may be no endpoints.
func (s *sought) missing() error {
	switch {
	case s.seeking:
		return errors.New("looking for " + s.source)
	case s.err != nil:
		return s.err
	}
	return errors.New("the target has no endpoints")
}

// replaceEndpoints takes over the endpoints of all sources. An endpoint that was there before keeps its connections and its state.
func (c *Client) replaceEndpoints() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	// What a source finds in between is in the list, although it counts as sought. The other order would have no endpoints of a
	// source that is not sought anymore.
	c.sought.source, c.sought.seeking = c.service.Seeking()
	c.sought.err = c.service.Err()
	var all []*balance.Endpoint
	old, kept := c.endpoints, make(map[endpointKey]*endpoint)
	for _, found := range c.service.Endpoints() {
		key := endpointKey{found.Addr, found.Name}
		e := old[key]
		if e == nil {
			e = newEndpoint(c, found)
			c.set.SetDown(&e.Endpoint, true) // until it is connected
		}
		e.SetShare(found.Weight, found.Priority)
		kept[key] = e
		all = append(all, &e.Endpoint)
	}
	c.endpoints = kept
	c.set.Replace(all)
	for key, e := range old {
		if kept[key] == nil {
			e.cancel()
		}
	}
	for key, e := range kept {
		if old[key] == nil {
			c.tasks.Go(func() { e.keep(true) })
		}
	}
	c.notify()
}
