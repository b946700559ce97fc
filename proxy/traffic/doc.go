// Package traffic counts a proxy's requests and connections, and writes the access log.
//
// Metrics has the counters of listeners and routes by name, so that they outlast a reload. Each loop has counters of its own;
// Snapshot adds them up. Log.Write queues an entry and never waits for the disk: an entry that does not fit in the queue is
// dropped and counted. TraceID reads the trace id of a traceparent field.
//
//	metrics := traffic.NewMetrics(len(group.Loops()))
//	r := metrics.Route("public", "users")
//	r.Done(loop.Index(), traffic.HTTP(200), took, 120, 4711)
//	snapshot := metrics.Snapshot()
package traffic
