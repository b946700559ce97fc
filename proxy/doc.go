// Package proxy forwards requests: a listener accepts them, a route picks a cluster, and the cluster picks the
// endpoint that responds.
//
// New binds the listeners of a Config and serves them until Shutdown, on one event loop per core. A request passes
// through the packages below in this order: loop reads its bytes, bolt, http1 or http2 parses its head, route finds its
// route, exchange picks an endpoint of package upstream, and traffic counts the request. Bodies pass in pieces: no
// body is buffered as a whole or decoded. Reload applies another Config without losing a request.
//
//	p, err := proxy.New(&proxy.Config{
//		Listeners: []proxy.Listener{{Address: "127.0.0.1:18080", Protocol: proxy.HTTP1, Cluster: "web"}},
//		Clusters:  []upstream.Config{{Name: "web", Endpoints: []upstream.Server{{Address: "127.0.0.1:18090"}}}},
//	}, nil)
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer p.Shutdown(ctx) // it serves from New on
package proxy

// Files: proxy.go binds listeners, reload.go puts another configuration in place, check.go says what is wrong in one;
// terminator.go puts TLS before a listener's protocol, listener_tls.go configures it.
