// Package traffic counts what passes a proxy, and writes the access log.
//
// A Book has the counters of listeners and routes by name, so that they outlast a change of the configuration. Each loop
// counts in a share of its own; Snapshot adds the shares up. A Log takes entries from loops and never makes them wait for a
// disk: what a slow one cannot take is dropped and counted. TraceID reads what a request says of the trace it belongs to.
//
//	book := traffic.NewBook(len(group.Loops()))
//	r := book.Route("public", "users")
//	r.Done(loop.Index(), traffic.HTTP(200), took, 120, 4711)
//	snapshot := book.Snapshot()
package traffic
