// Package proxy forwards requests: a listener takes them, a route decides where they go, a cluster has the servers that
// answer.
//
// New binds the listeners of a Config and serves them, on one event loop a core, until Shutdown. A request goes through the packages
// below in the order of their names in this sentence: loop reads its bytes, bolt or http1 finds its frame, exchange asks
// route where it goes and upstream which server gets it, and traffic counts it. Bodies pass in pieces and are never held as a
// whole; nothing is decoded. Reload puts another Config in place without a lost request.
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
