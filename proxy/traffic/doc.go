// Package traffic counts what passes a proxy, and writes the access log.
//
// A Book has the counters of listeners and routes by name, so that they outlast a change of the configuration. Each loop
// counts in a share of its own, without a lock; Snapshot adds the shares up. A Log takes entries from loops and never makes
// them wait: what a slow disk cannot take is dropped and counted.
//
//	book := traffic.NewBook(len(group.Loops()))
//	r := book.Route("public", "users")
//	r.Done(loop.Index(), traffic.HTTP(200), took, 120, 4711)
//	snapshot := book.Snapshot()
package traffic
