// Package traffic counts a proxy's requests and connections, and writes the access log.
//
// Metrics has the counters of listeners and routes by name, so that the counters survive a reload. Each loop has its
// own counters, and Snapshot adds them up. Log.Write queues an entry and never waits for the disk. An entry that does
// not fit in the queue is dropped and counted. TraceID returns the trace id of a traceparent field.
//
//	metrics := traffic.NewMetrics(len(group.Loops()))
//	r := metrics.Route("public", "users")
//	r.Done(loop.Index(), traffic.HTTP(200), took, 120, 4711)
//	snapshot := metrics.Snapshot()
package traffic

// Files: counters and access log: metrics.go has the counters by name and adds up, route.go and listener.go count for each loop,
// histogram.go counts durations; accesslog.go queues entries, accesslog_writer.go writes them; traceparent.go finds the trace id.
