// Idle_conns measures what an idle connection costs: 15,000 in one process and 100,000 over several; and what it costs to
// serve a few requests on all of them.
package main

import (
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
)

func main() {
	keepalive.Main()
	httpproxy.Main()
	harness.Main(question())
}

// The figures. CPU time, memory and goroutines are the proxy's own, of all its processes.
const (
	idle       = "bytes/connection"
	total      = "anonymous MiB in all"
	usedTotal  = "anonymous MiB in all, each used once"
	cpu        = "CPU % at 1000/s"
	p50        = "p50 ms at 1000/s"
	p99        = "p99 ms at 1000/s"
	failures   = "failures"
	goroutines = "goroutines"
	foreign    = harness.Foreign
	late99     = "p99 ms by which the client was late"
)

func question() harness.Question {
	return newExperiment(shipped, loads).question()
}

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "idle_conns",
		Title:  "Idle connections",
		Unit:   idle,
		Better: harness.Lower,
		About: "Clients connect to the proxy and send nothing: 15,000 connections to one process, or 100,000 to seven that share a port, as one process may have 20,000 descriptors here. " +
			"Bytes are by how much the proxy's anonymous memory (RssAnon) grows with the second half of them, over their number: reserves that a program allocates at start count to the first half. The next figure is the memory of all processes together. " +
			"Then requests come at 1000 a second in turn over all connections, each with a body of 1 KiB and a response with one, and latency counts from when a request was due. " +
			"Last, every connection carries one request, 20 of each client's at a time. A connection that is closed, refused or answered wrongly in any of this is a failure. " +
			"The proxies have core 0 to themselves; clients, with addresses of their own, and backend share core 1.",
		Figures: []string{total, usedTotal, cpu, p50, p99, failures, goroutines, foreign, late99},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "each row serves 200 connections in turn, and every response is the request's own", Run: e.checkResponses},
		},
		Disturbed: disturbed,
		Goals:     e.goals(),
		Notes: append([]string{
			"ferry is `ferry run` with examples/proxy/http1.yaml or bolt.yaml as they ship, with `reuse_port: true` where seven share a port; goroutines is the same with `goroutines: true`: one for each connection in place of the event loop.",
			"In a program with a garbage collector, connections also use the room that garbage has left, even those of the second half: with more connections the figure is more exact. The total is exact in any case.",
			"What the kernel holds for a connection, some 5 KB at each end, is not counted here.",
			"nginx has a part of what it needs for 20,000 connections when it starts. Seven are workers of one master; of HAProxy and ferry they are processes of their own.",
			"The proxies close connections that are idle for longer than this takes; ferry after 75 s of HTTP/1.1 and 90 s of Bolt, which is how it ships.",
			"MOSN was recorded on a quiet machine of this kind before this question existed, with 9,000 connections in its netpoll mode, which holds two descriptors for each.",
		}, e.notes...),
	}
	for _, l := range e.loads {
		q.Cases = append(q.Cases, l.name)
	}
	for _, r := range e.rows {
		q.Contenders = append(q.Contenders, harness.Contender{Name: r.name, Kind: r.kind, Version: r.version, Measure: e.measure(r)})
	}
	q.Contenders = append(q.Contenders, recorded(e.loads[0].name)...)
	return q
}

// recorded returns the row of MOSN, measured earlier with Bolt clients.
func recorded(load string) []harness.Contender {
	const version = "v1.6.0 of July 2026, on another day"
	return []harness.Contender{
		{Name: "MOSN, goroutines, as recorded", Kind: harness.Seed, Version: version, Recorded: map[string]harness.Figures{
			load: {idle: 13_804, cpu: 8.5, p50: 0.110, p99: 0.422},
		}},
		{Name: "MOSN, netpoll, as recorded", Kind: harness.Seed, Version: version + ", 9,000 connections", Recorded: map[string]harness.Figures{
			load: {idle: 11_150, cpu: 12, p50: 0.132, p99: 0.334},
		}},
	}
}

func (e *experiment) goals() []harness.Goal {
	var all []harness.Goal
	for _, l := range e.loads {
		for _, row := range []string{ferryHTTP1, ferryBolt} {
			all = append(all, harness.AtMost(300, l.name+", "+row+": bytes for each idle connection", func(r *harness.Result) float64 {
				return r.Stat(row, l.name, idle).Median
			}))
		}
		all = append(all, harness.AtMost(1, l.name+": CPU at 1000/s, times nginx's", func(r *harness.Result) float64 {
			return r.Ratio(ferryHTTP1, nginx, l.name, cpu)
		}), harness.AtMost(1, l.name+": p99 at 1000/s, times nginx's", func(r *harness.Result) float64 {
			return r.Ratio(ferryHTTP1, nginx, l.name, p99)
		}))
	}
	return append(all, harness.AtMost(0, "failures, of both protocols and all cases", func(r *harness.Result) float64 {
		sum := 0.0
		for _, l := range e.loads {
			for _, row := range []string{ferryHTTP1, ferryBolt} {
				sum += r.Stat(row, l.name, failures).Max
			}
		}
		return sum
	}))
}
