package proxy

import (
	"cmp"

	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/http1"
	"example.com/ferry/proxy/http2"
	"example.com/ferry/proxy/upstream"
)

// connectors returns the Connectors of the clusters that l names, in the order of clusters. A client and a server may speak
// different versions of HTTP. Bolt has no Connectors.
func connectors(l *Listener, clusters []*upstream.Cluster, loops int) []exchange.Connector {
	if l.Protocol == Bolt {
		return nil
	}
	one, two := http1.NewConnector(&l.HTTP1.Limits, loops), http2.NewConnector(loops)
	var all []exchange.Connector
	for _, c := range clusters {
		var made exchange.Connector = one
		switch cfg := c.Config(); cmp.Or(cfg.Protocol, l.clusterProtocol()) {
		case upstream.HTTP2:
			made = two
		case upstream.Auto:
			if cfg.TLS != nil {
				made = http2.NewNegotiator(one, two)
			}
		}
		all = append(all, made)
	}
	return all
}
