// Proxy_http1 measures what it costs to forward an HTTP/1.1 request: ferry as it ships, other proxies, and loops that only
// copy bytes.
package main

import (
	"fmt"
	"math"
	"os"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/pingora"
)

func main() {
	keepalive.Main()
	httpproxy.Main()
	playRelay()
	if err := pingora.Program.Install(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	harness.Main(question())
}

// The figures. CPU time, memory and goroutines are the proxy's own.
const (
	perRequest = "CPU us/request"
	qps        = "requests/s"
	mean       = "mean ms"
	p50        = "p50 ms"
	p99        = "p99 ms"
	p999       = "p99.9 ms"
	anonymous  = "anonymous MiB"
	cpu        = "CPU %"
	goroutines = "goroutines"
	failures   = "failures"
	foreign    = harness.Foreign
	late99     = "p99 ms by which the client was late"
	perMiB     = "CPU us/MiB"
	mibps      = "MiB/s"
	growth     = "resident growth MiB"
)

func question() harness.Question {
	return newExperiment(shipped).question()
}

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "proxy_http1",
		Title:  "Forwarding HTTP/1.1 over connections that stay",
		Unit:   perRequest,
		Better: harness.Lower,
		About: "A POST with a body of 1 KiB, and a response with one, over keep-alive connections to the proxy and from it to the backend. " +
			"CPU time per request is the proxy's own, user and system, by the kernel's account, as read by the client where its window begins and ends. " +
			"With one core the proxy has core 0 to itself, and client and backend share core 1; with two cores all three share both; with one shared core the proxy has both, and client and backend share the second one. " +
			"500 connections each send the next request when the last one is answered; at a fixed rate, 50 take turns, and latency counts from when a request was due. " +
			"Two hops are a sidecar on each side: client, proxy, proxy, backend; two processes, and what both of them took. " +
			"Client and backend are this question's own, one thread each; the client verifies every response: status, length and each byte, of which the first are the request's own. " +
			"Large bodies are files of an nginx on core 1, over 8 and 50 connections that each send the next request when the last response is complete; uploads are stored by it, in memory. " +
			"CPU time per request is then that of the bytes that passed within the window, and resident growth is the most memory the proxy had at any time, less what it had before the client connected.",
		Figures: []string{qps, mean, p50, p99, p999, perMiB, mibps, growth, anonymous, cpu, goroutines, failures, foreign, late99},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "each row forwards through one hop and through two, on one core and on two, and every response is the request's own", Run: e.checkResponses},
			{Name: "ferry, nginx and HAProxy pass on large bodies in both directions, several at once, and their SHA-256 is that of what was sent", Run: e.checkBodies},
		},
		Disturbed: disturbed,
		Goals:     goals(),
		Notes: append([]string{
			"ferry is `ferry run -c examples/proxy/http1.yaml` as it ships, with its timeouts, limits, health check, retry budget and metrics; only where a test or a second process needs them, with other addresses. It writes no access log, and no other row does.",
			"The relays know nothing of HTTP: each client's connection has one of its own to the backend, and bytes are passed on as they come.",
			"Direct has no proxy, and so uses no CPU time for one: its other figures are what client and backend can do.",
			"A proxy that costs less than client and backend together does not fill its core: compare CPU time, not requests a second.",
			"A failure is a connection that did what it should not, closing included; it is counted and made again.",
			"MOSN was recorded on a quiet machine of this kind before this question existed, with wrk and h2load as clients.",
		}, e.notes...),
	}
	for _, l := range loads {
		q.Cases = append(q.Cases, l.name)
		if l.body == nil {
			q.Plot = append(q.Plot, l.name)
		}
	}
	for _, c := range e.contenders {
		q.Contenders = append(q.Contenders, harness.Contender{Name: c.name, Kind: c.kind, Version: c.version, Measure: e.measure(c)})
	}
	q.Contenders = append(q.Contenders, recorded)
	return q
}

// recorded is MOSN, in its goroutine mode.
var recorded = harness.Contender{
	Name: "MOSN, as recorded", Kind: harness.Seed, Version: "v1.6.0 of July 2026, on another day",
	Recorded: map[string]harness.Figures{
		oneCore:   {perRequest: 39.7},
		fixedRate: {perRequest: 36.7},
	},
}

func goals() []harness.Goal {
	// better returns ferry's figure divided by the best figure of the peers.
	better := func(load, figure string) func(*harness.Result) float64 {
		return func(r *harness.Result) float64 {
			worst := math.NaN()
			for _, peer := range goalPeers {
				if x := r.Ratio(ferryRow, peer, load, figure); math.IsNaN(worst) || x > worst {
					worst = x
				}
			}
			return worst
		}
	}
	// overRelay returns ferry's CPU time divided by that of the relay in C.
	overRelay := func(load string) func(*harness.Result) float64 {
		return func(r *harness.Result) float64 { return r.Ratio(ferryRow, cRelayRow, load, perRequest) }
	}
	goals := []harness.Goal{
		harness.AtMost(1.05, oneCore+": CPU time, times the relay in C", overRelay(oneCore)),
		harness.AtMost(1.05, twoCores+": CPU time, times the relay in C", overRelay(twoCores)),
		harness.AtMost(1, oneCore+": CPU time, times the better of nginx and HAProxy", better(oneCore, perRequest)),
		harness.AtMost(0.85, oneCore+": the same, moonshot", better(oneCore, perRequest)),
		harness.AtMost(1, twoCores+": CPU time, times the better of nginx and HAProxy", better(twoCores, perRequest)),
		harness.AtMost(1, twoCores+": p99, times the better of nginx and HAProxy", better(twoCores, p99)),
		harness.AtMost(1, sharedOne+": p99, times the better of nginx and HAProxy", better(sharedOne, p99)),
		harness.AtMost(1, fixedRate+": p50, times the better of nginx and HAProxy", better(fixedRate, p50)),
		harness.AtMost(1, fixedRate+": p99, times the better of nginx and HAProxy", better(fixedRate, p99)),
		harness.AtMost(1, twoHops+": CPU time, times the better of nginx and HAProxy", better(twoHops, perRequest)),
		harness.AtMost(20, oneCore+": anonymous MiB", func(r *harness.Result) float64 { return stat(r, oneCore, anonymous).Max }),
		harness.AtMost(0, "failures, of all cases", func(r *harness.Result) float64 {
			sum := 0.0
			for _, l := range loads {
				sum += stat(r, l.name, failures).Max
			}
			return sum
		}),
	}
	return append(goals, bodyGoals(better)...)
}

// stat is a figure of ferry's; NaN where there is none.
func stat(r *harness.Result, load, figure string) harness.Stat { return r.Stat(ferryRow, load, figure) }
