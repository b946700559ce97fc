//go:build linux

// Proxy_bolt measures what it costs to forward Bolt requests from many clients to one backend.
package main

import (
	"fmt"
	"os"

	"example.com/ferry/bench/internal/boltload"
	"example.com/ferry/bench/internal/envoy"
	"example.com/ferry/bench/internal/harness"
)

func main() {
	boltload.Main()
	if err := envoy.Install(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	harness.Main(newExperiment(boltload.Shipped).question())
}

var workloads = []boltload.Workload{boltload.FourEach, boltload.OneEach, boltload.Mixed, boltload.FourEachTwo, boltload.OneEachTwo}

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "proxy_bolt",
		Title:  "Forwarding Bolt: many clients, one backend",
		Unit:   boltload.PerRequest,
		Better: harness.Lower,
		About: "A client keeps requests in flight on each of its connections, through a proxy, to a backend that echoes them. " +
			"Ferry is the shipped binary with examples/proxy/bolt.yaml as it is. The proxy has a core to itself; client and backend share the other one. " +
			"The headline is CPU time the kernel counts for the proxy's process, over requests answered in the same window; each response's id and content are compared. " +
			"Requests are of version 1, with a class, two headers and 1 KiB of content, and so are responses; in the mix 0 to 10 KiB, evenly spread.",
		Figures: []string{
			boltload.PerSecond, boltload.Mean, boltload.P50, boltload.P95, boltload.P99, boltload.Anonymous, boltload.HeapGrowth, boltload.Goroutines,
			boltload.Busy, boltload.LoadBusy, boltload.Foreign,
		},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "through each row, each request of any size from 0 bytes to 10 KiB is answered once, with its own id and content; again in each measurement", Run: e.checkResponses},
		},
		Goals: goals(),
		Notes: append([]string{
			"nginx, HAProxy and Envoy know nothing of Bolt here: they copy bytes, and open a connection to the backend for each of the client's. Ferry and the limits send all requests by 4 connections, in the mix by 6 (`connections: 6` in ferry's file), and so give each one another id. A connection of its own costs a read and a write on either side for each request; shared ones carry many at once.",
			"With one request in flight on each connection, that read and that write of 1 KiB on the client's side are most of the cost of the limits too, and most of that is the kernel's.",
			"Where CPU % is far below 100, the client and the backend were the limit of requests/s: their core was full.",
			"Two cores: the proxy may use both, and has two loops, workers or threads; client and backend stay on the second one and so compete for it with half of the proxy. The limits have one thread and no part.",
			"Loops of ferry: one for each core it may use, as it does by itself.",
			"Limits do no more than forward: no timeouts, checks, counters or bounds. What they read in one round they send by one connection, the next round's by the next. Direct is the client at the backend, without a proxy. It may have fewer requests/s than a proxy with shared connections: the backend then serves all of the client's connections itself, and on the same core.",
			"Memory is anonymous pages after the load, with all connections still open. Heap growth is what ferry's Go heap in use has then more than before the load. Both and the goroutines are read when the window is over.",
			"MOSN was recorded before this question existed, on a quiet machine with other load makers: goroutine mode, 4 connections to the backend.",
		}, e.absent...),
	}
	for _, w := range workloads {
		q.Cases = append(q.Cases, w.Name)
	}
	for _, r := range e.rows {
		q.Contenders = append(q.Contenders, e.contender(r))
	}
	q.Contenders = append(q.Contenders, recorded...)
	return q
}

func goals() []harness.Goal {
	var all []harness.Goal
	for _, w := range []boltload.Workload{boltload.FourEach, boltload.OneEach} {
		median := func(figure string) func(*harness.Result) float64 {
			return func(r *harness.Result) float64 { return r.Stat(ferryRow, w.Name, figure).Median }
		}
		times := func(row string) func(*harness.Result) float64 {
			return func(r *harness.Result) float64 { return r.Ratio(ferryRow, row, w.Name, boltload.PerRequest) }
		}
		all = append(all,
			harness.AtMost(3, w.Name+": CPU µs/request", median(boltload.PerRequest)),
			harness.AtLeast(300_000, w.Name+": requests/s", median(boltload.PerSecond)),
			harness.AtMost(1, w.Name+": CPU time, times Envoy's", times(envoyRow)),
			harness.AtMost(1.4, w.Name+": CPU time, times the limit's in Go", times(limitGo)))
	}
	return all
}
