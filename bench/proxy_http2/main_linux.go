// Proxy_http2 measures what it costs to forward an HTTP/2 request: ferry as it ships, other proxies, and a loop that only passes
// frames on.
package main

import (
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/proxytrial"
)

func main() {
	keepalive.Main()
	httpproxy.Main()
	harness.Main(newExperiment().question())
}

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "proxy_http2",
		Title:  "Forwarding HTTP/2: five connections, a hundred streams each",
		Unit:   proxytrial.PerRequest,
		Better: harness.Lower,
		About: "A POST with a body of 1 KiB, and a response with one, over 5 connections with 100 requests in flight each, as h2load -c5 -m100 makes them: " +
			"each response triggers the next request. Cleartext with prior knowledge on both sides, but where a case says otherwise. " +
			"CPU time per request is the proxy's own, user and system, by the kernel's account, as read by the client where its window begins and ends. " +
			"With one core the proxy has core 0 to itself, and client and backend share core 1; with two cores all three share both. " +
			"HTTP/1.1 has 500 connections. Bodies of 1 MiB have 2 requests in flight on each connection. At a fixed rate, latency counts from when a request was due. " +
			"Two hops are a sidecar on each side: two processes, and what both of them took. " +
			"Client and backend are this question's own, one thread each, with an HTTP/2 codec of their own; the client verifies every response: status, length and each byte, of which the first are the request's own. " +
			"All proxies of a case run at the same time and are measured in turn, in slices of 200 ms; those whose turn it is not are idle.",
		Figures:   proxytrial.Figures,
		Plot:      []string{oneCore, withTLS, toHTTP1, fromHTTP1},
		Prepare:   e.prepare,
		Disturbed: func(f harness.Figures) bool { return f[proxytrial.Late99] > 0.5 },
		Checks: []harness.Check{
			{Name: "each row forwards in each of its cases, and every response is the request's own", Run: e.checkResponses},
		},
		Goals: goals(),
		Notes: append([]string{
			"ferry is `ferry run` with the settings of examples/proxy/http2.yaml, and the protocol and the addresses of the case.",
			"The relay in C passes frames on with new stream ids. It decodes no headers: both sides are told to use no dynamic table, which makes their header blocks larger than those of the other rows. It routes, tests, counts and bounds nothing. See the head of proxy_http2/relay/relay.c.",
			"Direct has no proxy, and so uses no CPU time for one: its other figures are what client and backend can do.",
			"A proxy that costs less than client and backend together does not fill its core, and reads fewer frames at once: compare CPU time, not requests a second.",
			"Certificates are ECDSA P-256, the curve is X25519, the version TLS 1.3. Post-quantum key exchange is off.",
			"nginx 1.22 speaks HTTP/2 to clients only, so it has a row where the backend speaks HTTP/1.1.",
			"MOSN was recorded on a quiet machine of this kind before this question existed, with h2load as the client and a Go backend.",
		}, e.notes...),
	}
	for _, l := range loads {
		q.Cases = append(q.Cases, l.name)
	}
	for _, c := range e.contenders {
		q.Contenders = append(q.Contenders, harness.Contender{Name: c.name, Kind: c.kind, Version: c.version, Open: e.open(c)})
	}
	q.Contenders = append(q.Contenders, recorded)
	return q
}

// recorded is MOSN, in its goroutine mode.
var recorded = harness.Contender{
	Name: mosn, Kind: harness.Seed, Version: "v1.6.0 of July 2026, on another day",
	Recorded: map[string]harness.Figures{oneCore: {proxytrial.PerRequest: 51.4}},
}

func goals() []harness.Goal {
	times := func(row, name, figure string) func(*harness.Result) float64 {
		return func(r *harness.Result) float64 { return r.Ratio(ferryRow, row, name, figure) }
	}
	var all []harness.Goal
	for _, l := range loads {
		all = append(all, harness.AtMost(1, l.name+": CPU time, times HAProxy's", times(haproxy, l.name, proxytrial.PerRequest)))
	}
	all = append(all, harness.AtMost(0.7, oneCore+": CPU time, times HAProxy's, moonshot", times(haproxy, oneCore, proxytrial.PerRequest)))
	for _, name := range []string{oneCore, withTLS, toHTTP1, fromHTTP1} {
		all = append(all, harness.AtMost(0.75, name+": CPU time, times Envoy's", times(envoyRow, name, proxytrial.PerRequest)))
	}
	all = append(all, harness.AtMost(0.3, oneCore+": CPU time, times MOSN's as recorded", times(mosn, oneCore, proxytrial.PerRequest)))
	for _, name := range []string{oneCore, twoCores, withTLS, fixedRate} {
		all = append(all, harness.AtMost(1, name+": p99, times HAProxy's", times(haproxy, name, proxytrial.P99)))
	}
	return append(all, harness.AtMost(0, "failures, of all cases", func(r *harness.Result) float64 {
		sum := 0.0
		for _, l := range loads {
			sum += r.Stat(ferryRow, l.name, proxytrial.Failures).Max
		}
		return sum
	}))
}
