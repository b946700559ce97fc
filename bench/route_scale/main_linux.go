// Route_scale measures what routes by host, prefix and header cost a proxy: 10 to 10,000 of them.
package main

import (
	"fmt"
	"slices"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/proxytrial"
	"example.com/ferry/bench/internal/routeproxy"
	"example.com/ferry/bench/internal/routeset"
)

func main() {
	keepalive.Main()
	harness.Main(newExperiment(counts).question())
}

// counts are the numbers of routes.
var counts = []int{10, 1000, 10_000}

// kinds are the kinds of routes.
var kinds = []routeset.Kind{routeset.HostPrefix, routeset.Header}

func caseName(kind routeset.Kind, count int) string { return fmt.Sprintf("%s, %d routes", kind, count) }

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "route_scale",
		Title:  "Routing by host and prefix, or by a header field",
		Unit:   proxytrial.PerRequest,
		Better: harness.Lower,
		About: "GET requests over HTTP/1.1 on 100 keep-alive connections, one at a time on each; each response triggers the next request. In the cases with host and prefix, each host " +
			"has 10 routes with a prefix each. In those with a header, one host has routes with a value of one header field each. Requests take all routes in turn, in a scattered order. " +
			"Each route sets a header field with its name, which the server returns with the path of the request: the client checks that for each response. All routes have the same server. " +
			"CPU time per request is the proxy's own, user and system, by the kernel's account. The proxy has core 0 to itself; client and server share core 1, one thread each. " +
			"All proxies of a case run at the same time and are measured in turn, in slices of 200 ms; those whose turn it is not are idle.",
		Figures:   proxytrial.Figures,
		Prepare:   e.prepare,
		Disturbed: func(f harness.Figures) bool { return f[proxytrial.Failures] > 0 },
		Checks: []harness.Check{{
			Name: "each row forwards requests of the first, the middle, the last and other routes by these, and responds 404 to requests that match none", Run: e.checkRoutes,
		}},
		Notes: append([]string{
			"ferry is `ferry run` with its limits, timeouts and metrics; it counts each route's requests and times by themselves.",
			"nginx has a server for each host with a location for each prefix, or a map of the header field. Envoy has a virtual host for each host, or a matcher tree of the header field. " +
				"HAProxy has a map file, of host and prefix in one key (map_beg) or of the header field (map_str).",
			"The other row of HAProxy has a rule for each route, as most configurations begin: `http-request set-var(txn.route) str(route-7) if { req.hdr(host) -i ... } { path_beg ... }`. " +
				"A rule that sets something does not end the search, so HAProxy tries all of them for each request.",
		}, e.notes...),
	}
	for _, kind := range kinds {
		for _, n := range e.counts {
			q.Cases = append(q.Cases, caseName(kind, n))
		}
	}
	for _, p := range e.proxies {
		kind := harness.Peer
		if p.Name == routeproxy.Ferry {
			kind = harness.Ferry
		}
		q.Contenders = append(q.Contenders, harness.Contender{Name: p.Name, Kind: kind, Version: p.Version, Open: e.open(p)})
	}
	q.Goals = e.goals()
	return q
}

func (e *experiment) goals() (all []harness.Goal) {
	least, most := slices.Min(e.counts), slices.Max(e.counts)
	for _, kind := range kinds {
		all = append(all, harness.AtMost(1.1, fmt.Sprintf("%s: CPU time with %d routes, times that with %d", kind, most, least), func(r *harness.Result) float64 {
			return r.Stat(routeproxy.Ferry, caseName(kind, most), proxytrial.PerRequest).Median / r.Stat(routeproxy.Ferry, caseName(kind, least), proxytrial.PerRequest).Median
		}))
		for _, peer := range []string{routeproxy.Nginx, routeproxy.HAProxy, routeproxy.HAProxyACLs, routeproxy.Envoy} {
			all = append(all, harness.AtMost(1, fmt.Sprintf("%s: CPU time, times that of %s", caseName(kind, most), peer), func(r *harness.Result) float64 {
				return r.Ratio(routeproxy.Ferry, peer, caseName(kind, most), proxytrial.PerRequest)
			}))
		}
	}
	return append(all, harness.AtMost(0, "failures, of all cases", func(r *harness.Result) float64 {
		sum := 0.0
		for _, kind := range kinds {
			for _, n := range e.counts {
				sum += r.Stat(routeproxy.Ferry, caseName(kind, n), proxytrial.Failures).Max
			}
		}
		return sum
	}))
}
