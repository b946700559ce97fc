// Reload measures how long a proxy takes to use another configuration, and what that costs: 10 to 10,000 routes, one of which changes.
package main

import (
	"fmt"
	"math"
	"slices"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/routeproxy"
)

func main() {
	keepalive.Main()
	harness.Main(newExperiment(counts).question())
}

// counts are the numbers of routes.
var counts = []int{10, 1000, 10_000}

func caseName(count int) string { return fmt.Sprintf("%d routes", count) }

// The figures.
const (
	settled  = "ms until the new routes count"
	loaded   = "ms under load"
	spent    = "CPU ms"
	quiet99  = "p99 us without reloads"
	reload99 = "p99 us with reloads"
	failures = "failures"
	late99   = "p99 us by which the client was late"
)

const (
	rate    = 2000 // requests a second
	conns   = 20
	reloads = 3 // of each kind: without load, and under load
)

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "reload",
		Title:  "A reload that changes one of many routes",
		Unit:   settled,
		Better: harness.Lower,
		About: "Each host has 10 routes with a prefix each, as in route_scale. A reload replaces the prefix of the last route. The time counts from before the new files are written (an atomic " +
			"rename) and the signal is sent, until a request on a new connection takes the new route and another one gets 404 for the old prefix, and so do the next four pairs of requests. " +
			"There is a pair every half millisecond. CPU time is the proxy's own with that of its processes that have ended, per reload, until 200 ms after the new routes count. It has that of the probes, which are more the longer a reload takes, and the kernel counts that of ended processes in units of 10 ms. " +
			"Both are measured without other load, as means of 3 reloads. Then 2,000 GET requests a second come over 20 keep-alive connections, on all routes that stay, for a second without and a second " +
			"with 3 reloads; latency counts from when a request was due. Each response is checked to come from the right route. " +
			"The proxy has core 0 with all its processes; client and server share core 1.",
		Figures:   []string{loaded, spent, quiet99, reload99, failures, late99, harness.Foreign},
		Prepare:   e.prepare,
		Disturbed: func(f harness.Figures) bool { return f[late99] > 500 },
		Checks: []harness.Check{
			{Name: "after a reload each row has the new route and the others, and not the old one", Run: e.checkReloads},
		},
		Notes: append([]string{
			"ferry and nginx get SIGHUP, the master process of HAProxy gets SIGUSR2. `nginx -s reload` sends the same signal, but reads the configuration itself before. " +
				"Envoy watches the file of its routes (RDS, path_config_source), in JSON, and the file has nothing else.",
			"Failures are requests without a response and connections that the proxy closed, idle ones included, of the second with reloads: nginx and HAProxy start another process, and the one before closes its idle connections.",
			"The master process of HAProxy loses a signal that comes while it starts a worker. Such a reload is tried again after 10 seconds, and counts from then.",
			"ferry has 1,000 routes and more in a file of their own (`routes_file`), one host a line, and fewer in its YAML file.",
			"ferry notices a changed file by itself, too: it looks once a second, and reads a file that has not changed since it looked last. A signal is immediate.",
		}, e.notes...),
	}
	for _, n := range e.counts {
		q.Cases = append(q.Cases, caseName(n))
	}
	for _, p := range e.proxies {
		kind := harness.Peer
		if p.Name == routeproxy.Ferry {
			kind = harness.Ferry
		}
		q.Contenders = append(q.Contenders, harness.Contender{Name: p.Name, Kind: kind, Version: p.Version, Measure: e.measure(p)})
	}
	q.Goals = e.goals()
	return q
}

func (e *experiment) goals() (all []harness.Goal) {
	for _, n := range e.counts {
		name := caseName(n)
		all = append(all,
			harness.AtMost(0.5, name+": time, times that of the best peer", func(r *harness.Result) float64 {
				most := math.NaN() // the largest ratio is that to the best peer
				for _, p := range e.proxies {
					if p.Name != routeproxy.Ferry {
						if ratio := r.Ratio(routeproxy.Ferry, p.Name, name, settled); math.IsNaN(most) || ratio > most {
							most = ratio
						}
					}
				}
				return most
			}),
			harness.AtMost(1.1, name+": p99 with reloads, times that without", func(r *harness.Result) float64 {
				return r.Stat(routeproxy.Ferry, name, reload99).Median / r.Stat(routeproxy.Ferry, name, quiet99).Median
			}))
	}
	return append(all, harness.AtMost(0, "failures, of all cases", func(r *harness.Result) float64 {
		var most []float64
		for _, n := range e.counts {
			most = append(most, r.Stat(routeproxy.Ferry, caseName(n), failures).Max)
		}
		return slices.Max(most)
	}))
}
