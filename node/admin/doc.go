// Package admin is a node's HTTP server: probes, Prometheus metrics, profiles, live messages and the dashboard.
//
//	/ping /ready      200 while the process lives; 200 while it takes traffic
//	/metrics          Prometheus text
//	/debug/pprof/     Go profiles
//	/api/stream       messages of a tag filter as server-sent events
//	/api/functions    the node's own functions; POST to NAME/start or NAME/stop
//	/api/proxy        the proxy's listeners, routes and clusters, as JSON
//	/                 the dashboard, which draws what all of these say
//
// It is meant for this machine and has no password, so it answers only to names that cannot be another site's: IP
// addresses, localhost and Config.Hosts. What changes anything takes same-origin requests only.
//
//	s, err := admin.New(admin.Config{Address: "127.0.0.1:4195"})
//	go s.Serve()
//	s.SetReady(true)
package admin
