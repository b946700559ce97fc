// Package load generates requests and measures how long they take.
//
// In an open loop, requests are due at a fixed rate, whatever the server does. A latency is the time from when a request was due
// until its response was complete, so a stalled server makes all requests slow that were due in the meantime. In a closed loop, each of
// Config.Workers sends its next request when its last one is complete. The package knows no protocol: a Target does. Package target
// has those of the ferry command.
//
//	l, err := load.New(&load.Config{Rate: 1000, Duration: 10 * time.Second}, myTarget)
//	result, err := l.Run(ctx)
//	fmt.Println(result.Latency.Quantile(0.99), result.Void)
package load

// Files: the load that ferry load generates: run.go is the open and the closed loop, target.go the contract of a protocol,
// histogram.go the latencies, clock.go wakes the generator in time, result.go says when a run is void; text.go, plot.go,
// svg.go and json.go print it. target/ has a file for each protocol.
