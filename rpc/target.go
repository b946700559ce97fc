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
func parseTarget(target string, cfg *ClientConfig) (transport.Transport, []Source, error) {
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
			source, err := discovery.Address(addr, 1, nil)
			if err != nil {
				return nil, nil, fmt.Errorf("rpc: target %s: %w", target, err)
			}
			sources = append(sources, source)
		}
	case "srv":
		sources = append(sources, discovery.SRV(rest, nil))
	case "file":
		sources = append(sources, discovery.File(rest))
	default:
		return nil, nil, fmt.Errorf("rpc: target %s: %s is no way to find endpoints: write dns+, srv+, file+, or none of them", target, how)
	}
	return cfg.Transports[i], sources, nil
}

// endpointKey identifies an endpoint. One with another name to verify is another one, with connections of its own.
type endpointKey struct{ addr, name string }

// followed is a source of a client and what it has found. Client.mu protects the fields below Source.
type followed struct {
	Source
	list []Endpoint
	err  error // of the last call of Next
	used bool  // Next has returned
}

// follow keeps the endpoints those that the sources find.
func (c *Client) follow(sources []Source) {
	for _, s := range sources {
		c.sources = append(c.sources, &followed{Source: s})
	}
	for _, f := range c.sources {
		c.tasks.Go(func() {
			for c.ctx.Err() == nil {
				list, err := f.Next(c.ctx)
				c.found(f, list, err)
			}
		})
	}
}

// found takes a result of f. After a failure without a list the endpoints of the result before stay.
func (c *Client) found(f *followed, list []Endpoint, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if (err == nil) != (f.err == nil) {
		if err != nil {
			c.cfg.Log.Warn("rpc: cannot find endpoints: those known so far stay", "source", f.String(), "err", err)
		} else {
			c.cfg.Log.Info("rpc: endpoints are found again", "source", f.String())
		}
	}
	f.err, f.used = err, true
	if list != nil {
		f.list = list
		c.replaceEndpoints()
	}
	c.notify()
}

// sought reports whether a source may soon find its first endpoints, and otherwise why there may be none.
func (c *Client) sought() (bool, error) {
	reason := errors.New("the target has no endpoints")
	for _, f := range c.sources {
		if !f.used {
			return true, errors.New("looking for " + f.String())
		}
		if f.err != nil {
			reason = fmt.Errorf("%s: %w", f.String(), f.err)
		}
	}
	return false, reason
}

// replaceEndpoints makes the endpoints those of all sources. Those that were there before keep their connections and their state.
// The caller holds mu.
func (c *Client) replaceEndpoints() {
	var all []*balance.Endpoint
	var merged []Endpoint
	listed := make(map[string]bool)
	for _, f := range c.sources {
		for _, found := range f.list {
			if !listed[found.Addr] {
				listed[found.Addr] = true
				merged = append(merged, found)
			}
		}
	}
	old, kept := c.endpoints, make(map[endpointKey]*endpoint)
	for _, found := range merged {
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
}
