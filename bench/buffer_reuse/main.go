//go:build linux

// Buffer_reuse measures what a proxy gains by reusing its buffers.
package main

import (
	"example.com/ferry/bench/internal/boltload"
	"example.com/ferry/bench/internal/harness"
)

func main() {
	boltload.Main()
	harness.Main(newExperiment(boltload.Shipped).question())
}

// The figures that only this benchmark has.
const (
	allocated = "B allocated/request"
	cycles    = "collections/million requests"
	pause     = "µs paused/collection"
)

// The rows.
const (
	reusing    = "ferry"
	allocating = "ferry, nothing reused"
)

var workloads = []boltload.Workload{boltload.FourEach, boltload.OneEach, boltload.Mixed}

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "buffer_reuse",
		Title:  "Forwarding Bolt with memory that is used again, and without",
		Unit:   boltload.PerSecond,
		Better: harness.Higher,
		About: "The same proxy twice, under the load of proxy_bolt: as it ships, and built with `-tags nopool`. That build allocates everything anew that the other one takes from a list of free ones: buffers of unread and of unwritten bytes, copies of requests, and the objects of requests and connections. " +
			"The seed claimed for its proxy, of goroutines and with headers in maps, 20 % more requests and 30 % less memory.",
		Figures: []string{
			boltload.PerRequest, boltload.Mean, boltload.P50, boltload.P95, boltload.P99, boltload.Anonymous, boltload.HeapGrowth,
			allocated, cycles, pause, boltload.Busy, boltload.LoadBusy, boltload.Foreign,
		},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "both respond to each request once, with its own id and content; again in each measurement", Run: e.checkResponses},
			{Name: "the one that reuses nothing allocates at least a content's bytes for each request, and twice what the other one does", Run: e.checkSwitch},
		},
		Goals: goals(),
		Notes: []string{
			"Both have examples/proxy/bolt.yaml as it is, a core to themselves, and Go's collector with its defaults. The buffer a loop reads into is not from a list, and both have it.",
			"Bytes allocated, collections and the time all goroutines were paused for one are ferry's own metrics, from before the load until after it.",
			"Where CPU % is far below 100, client and backend limited requests/s, and CPU time per request tells more.",
		},
	}
	for _, w := range workloads {
		q.Cases = append(q.Cases, w.Name)
	}
	for _, r := range rows {
		q.Contenders = append(q.Contenders, e.contender(r))
	}
	return q
}

func goals() []harness.Goal {
	times := func(w boltload.Workload, figure string) func(*harness.Result) float64 {
		return func(r *harness.Result) float64 { return r.Ratio(reusing, allocating, w.Name, figure) }
	}
	var all []harness.Goal
	for _, w := range workloads {
		all = append(all,
			harness.AtLeast(1.2, w.Name+": requests/s, times those of nothing reused", times(w, boltload.PerSecond)),
			harness.AtMost(0.7, w.Name+": memory, times that of nothing reused", times(w, boltload.Anonymous)))
	}
	return all
}
