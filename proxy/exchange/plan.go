package exchange

import (
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// Plan is the compiled configuration of a listener's requests. It does not change while it is used; a reload makes another one.
type Plan struct {
	Table      *route.Table
	Clusters   []*upstream.Cluster // in the order of Table.Clusters
	Connectors []Connector         // in the same order; a Relay needs them
	Routes     []*traffic.Route    // the counters of Table.Routes
	Listener   *traffic.Listener
	Log        *traffic.Log // nil means none
}

// NewPlan makes a Plan for a listener. clusters has every cluster that table names.
func NewPlan(listener string, table *route.Table, clusters map[string]*upstream.Cluster, metrics *traffic.Metrics, log *traffic.Log) *Plan {
	p := &Plan{Table: table, Listener: metrics.Listener(listener), Log: log}
	for _, name := range table.Clusters() {
		p.Clusters = append(p.Clusters, clusters[name])
	}
	for _, r := range table.Routes() {
		p.Routes = append(p.Routes, metrics.Route(listener, r.Name))
	}
	return p
}
