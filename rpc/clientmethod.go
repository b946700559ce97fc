package rpc

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// maxClientMethods bounds the table of a client. A program that makes up names shares the counters of "other" for the rest.
const maxClientMethods = 4096

// clientMethod is what a Client knows of a method.
type clientMethod struct {
	name       string
	idempotent bool
	encoded    atomic.Int64 // size of the last request: the next one's buffer gets it
	stats      *methodCounters
	recent     recentLatency // counted if Hedge is configured
}

// methodTable holds the methods that a Client has called. The zero value is empty. A call reads the map without a lock; a new
// method copies it.
type methodTable struct {
	all   atomic.Pointer[map[string]*clientMethod]
	mu    sync.Mutex     // held to replace all
	other methodCounters // of methods above maxClientMethods
}

// get returns the method with a full name.
func (t *methodTable) get(cfg *ClientConfig, name string) *clientMethod {
	if m := t.known()[name]; m != nil {
		return m
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.known()
	if m := old[name]; m != nil {
		return m
	}
	m := &clientMethod{name: name, idempotent: cfg.idempotent(name), stats: new(methodCounters)}
	if len(old) >= maxClientMethods {
		m.stats = &t.other
		return m
	}
	all := make(map[string]*clientMethod, len(old)+1)
	maps.Copy(all, old)
	all[name] = m
	t.all.Store(&all)
	return m
}

func (t *methodTable) known() map[string]*clientMethod {
	if all := t.all.Load(); all != nil {
		return *all
	}
	return nil
}

// ClientMetrics are the counters of a Client.
type ClientMetrics struct {
	Methods []MethodMetrics // sorted by name; the method "other" stands for all after 4096 of them
}

// Metrics returns the current counters.
func (c *Client) Metrics() ClientMetrics {
	var m ClientMetrics
	for name, method := range c.methods.known() {
		m.Methods = append(m.Methods, method.stats.snapshot(name))
	}
	if other := c.methods.other.snapshot("other"); other.Latency.Count > 0 || other.InFlight > 0 {
		m.Methods = append(m.Methods, other)
	}
	slices.SortFunc(m.Methods, byName)
	return m
}
