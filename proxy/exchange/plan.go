package exchange

import (
	"runtime"
	"time"

	"example.com/ferry/proxy/limit"
	"example.com/ferry/proxy/overload"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// Plan is the compiled configuration of one listener. A Plan is immutable: a reload creates a new one.
type Plan struct {
	Table      *route.Table
	Clusters   []*upstream.Cluster // in the order of Table.Clusters
	Connectors []Connector         // in the order of Clusters; required by a Relay
	Routes     []*traffic.Route    // counters of Table.Routes, in their order
	Listener   *traffic.Listener
	Log        *traffic.Log // access log; nil means none

	// The limits of the listener, set before the Plan is used.

	Overload    *overload.State // nil means that nothing is shed
	Rate        *limit.Rate     // requests per second of each client; nil means no limit
	MaxDuration time.Duration   // longest time of a request with its response; zero or negative means no limit
}

// turn is how many routes are looked up before other goroutines get their turn: event loops share the processor.
const turn = 128

// NewPlan creates a Plan for a listener. clusters must contain every cluster that table names.
func NewPlan(listener string, table *route.Table, clusters map[string]*upstream.Cluster, metrics *traffic.Metrics, log *traffic.Log) *Plan {
	p := &Plan{Table: table, Listener: metrics.Listener(listener), Log: log}
	for _, name := range table.Clusters() {
		p.Clusters = append(p.Clusters, clusters[name])
	}
	for i, r := range table.Routes() {
		p.Routes = append(p.Routes, metrics.Route(listener, r.Name))
		if i%turn == 0 {
			runtime.Gosched()
		}
	}
	return p
}
