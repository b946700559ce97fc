package exchange

import (
	"time"

	"example.com/ferry/internal/pace"
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

	Dates bool // responses get the field Date if the server has sent none; set before the Plan is used
	AsIs  bool // paths are forwarded as clients have sent them; set before the Plan is used
	// ReasonHeader has error responses of the proxy's own say why by X-Ferry-Reason; set before the Plan is used.
	ReasonHeader bool

	Compression *route.Compression // of responses of routes that have none of their own; nil means none. Set before the Plan is used
	Compressors []*Compressor      // of the loops, by their index; empty compresses nothing. Set before the Plan is used

	ErrorPages ErrorPages // set before the Plan is used

	Terms *Terms // of the listener's TLS, set before the Plan is used; nil means cleartext

	// The limits of the listener, set before the Plan is used.

	Overload    *overload.State // nil means that nothing is shed
	Rate        *limit.Rate     // requests per second of each client; nil means no limit
	MaxDuration time.Duration   // longest time of a request with its response; zero or negative means no limit
}

// NewPlan creates a Plan for a listener. clusters must contain every cluster that table names. before is the Plan that the listener has, or nil: counters
// of routes that both tables share are not looked up again.
func NewPlan(before *Plan, listener string, table *route.Table, clusters map[string]*upstream.Cluster, metrics *traffic.Metrics, log *traffic.Log) *Plan {
	p := &Plan{Table: table, Listener: metrics.Listener(listener), Log: log}
	for _, name := range table.Clusters() {
		p.Clusters = append(p.Clusters, clusters[name])
	}
	var last []*route.Route
	if before != nil && before.Listener == p.Listener {
		last = before.Table.Routes()
	}
	p.Routes = make([]*traffic.Route, len(table.Routes()))
	for i, r := range table.Routes() {
		if i < len(last) && last[i] == r {
			p.Routes[i] = before.Routes[i]
		} else {
			p.Routes[i] = metrics.Route(listener, r.Name)
		}
		if i%batch == 0 {
			pace.Step()
		}
	}
	return p
}

// batch is how many routes are compared between looks at the clock.
const batch = 64
