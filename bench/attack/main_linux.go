// Attack measures what honest clients of a proxy notice while other clients misuse it, and how much memory that costs.
package main

import (
	"math"

	"example.com/ferry/bench/internal/attacker"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
)

func main() {
	keepalive.Main()
	httpproxy.Main()
	attacker.Main()
	harness.Main(newExperiment().question())
}

// The figures. CPU time and memory are the proxy's own.
const (
	p99        = "p99 ms of honest requests"
	p50        = "p50 ms of honest requests"
	growth     = "memory growth, MiB"
	cpu        = "CPU %"
	failures   = "failures of honest requests"
	operations = "operations of the attacker/s"
	opened     = "connections of the attacker/s"
	closed     = "connections that the proxy closed/s"
	late99     = "p99 ms by which the client was late"
)

const noAttack = "no attack"

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "attack",
		Title:  "Honest clients during an attack",
		Unit:   p99,
		Better: harness.Lower,
		About: "Honest clients send 1000 requests a second over 10 HTTP/2 connections, with a body of 1 KiB and a response with one; latency counts from when a request was due. " +
			"Meanwhile an attacker misuses the same listener, from another address, as fast as the proxy lets it, and opens each connection again that the proxy closes. " +
			"The proxy has core 0 to itself. Client, backend and attacker share core 1: the client with real-time priority, the attacker with the lowest, so that what honest requests wait for is the proxy. " +
			"Memory growth is how much the proxy's anonymous memory (RssAnon) grows at most during the attack, read every 20 ms, over what it was under the honest load alone. " +
			"The client verifies every response. A request without a valid response is a failure.",
		Figures:   []string{p50, growth, failures, cpu, operations, opened, closed, harness.Foreign, late99},
		Prepare:   e.prepare,
		Disturbed: func(f harness.Figures) bool { return f[late99] > 2 },
		Checks:    []harness.Check{{Name: "each row responds to honest requests during each attack, and each attacker gets through to it", Run: e.checkAttacks}},
		Goals:     goals(),
		Notes: append([]string{
			"ferry is `ferry run` with the settings of examples/proxy/http2.yaml, tls.yaml for the slow TLS handshakes, and its default limits. The peers have the settings of proxy_http2, and their default limits but for the number of connections.",
			"Rapid reset: 4 connections whose requests are canceled at once. CONTINUATION: header blocks without an end. PING and SETTINGS: the acknowledgements are not read. Empty frames: DATA without data and without an end. " +
				"Zero window: 50 connections with 50 requests each, whose responses may not be sent. Header bomb: blocks of 15 KB that stand for 58 MB. Slow read: 50 connections with 50 requests each, whose socket is not read. " +
				"Connection flood: up to 2000 connections that send nothing, for a second each. Slow TLS handshakes: 500 connections that send a ClientHello byte by byte.",
			"A proxy that closes an attacker's connections at once has its p99 during a flood of new connections, as the attacker opens them again.",
			"Go net/http is httputil.ReverseProxy.",
			"A proxy that does not serve the honest client any more, new connections included, has 15 s as its p50 and p99, and all requests as failures.",
		}, e.notes...),
		Cases: cases(),
	}
	for _, c := range e.contenders {
		q.Contenders = append(q.Contenders, harness.Contender{Name: c.name, Kind: c.kind, Version: c.version, Measure: e.measure(c)})
	}
	return q
}

// cases are no attack, and all attacks.
func cases() []string {
	all := []string{noAttack}
	for _, k := range attacker.Kinds {
		all = append(all, string(k))
	}
	return all
}

func goals() []harness.Goal {
	var all []harness.Goal
	for _, name := range cases()[1:] {
		all = append(all,
			harness.AtMost(1.1, name+": p99, times that of the best peer without failures", func(r *harness.Result) float64 { return timesBest(r, name) }),
			harness.AtMost(4, name+": memory growth, MiB", func(r *harness.Result) float64 { return r.Stat(ferryRow, name, growth).Max }))
	}
	return append(all, harness.AtMost(0, "failures of honest requests, of all attacks", func(r *harness.Result) float64 {
		sum := 0.0
		for _, name := range cases() {
			sum += r.Stat(ferryRow, name, failures).Max
		}
		return sum
	}))
}

// timesBest is the largest ratio of ferry's p99 to that of a peer that served all honest requests.
func timesBest(r *harness.Result, name string) float64 {
	worst := math.NaN()
	for _, row := range r.Rows {
		if row.Kind != harness.Peer || r.Stat(row.Name, name, failures).Max > 0 {
			continue
		}
		if x := r.Ratio(ferryRow, row.Name, name, p99); !math.IsNaN(x) && !(x < worst) {
			worst = x
		}
	}
	return worst
}
