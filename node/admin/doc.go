// Package admin is a node's HTTP server: probes, Prometheus metrics, profiles, live messages and the dashboard.
//
//	/ping /ready      200 while the process lives; 200 while it takes traffic, and why it is overloaded
//	/metrics          Prometheus text
//	/debug/pprof/     Go profiles
//	/api/stream       messages of a tag filter as server-sent events
//	/api/functions    the node's own functions; POST to NAME/start or NAME/stop
//	/api/proxy        the proxy's listeners, routes and clusters, as JSON
//	/api/connections  the clients; POST to ID/close
//	/api/log-level    the level of the node's log; POST changes it
//	/api/config       the running configuration, without secrets
//	/                 the dashboard, which draws these
//
// With Config.Token it serves requests that carry the token, and probes. Without, it is for loopback only, and what changes the node needs
// Config.LocalToken. It serves requests for
// names that cannot be another site's: IP addresses, localhost and Config.Hosts. A page of another site gets nothing but files.
// With Config.ReadOnly it has /metrics, /ping and /ready only.
//
//	s, err := admin.New(admin.Config{Address: "127.0.0.1:4195"})
//	go s.Serve()
//	s.SetReady(true)
package admin
