// Proxy_tls measures what TLS costs a proxy: handshakes, requests on connections that stay, and idle connections.
package main

import (
	"math"

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

// The figures that this question adds to those of a trial.
const (
	unit      = "CPU us/operation" // of a handshake or a request
	perSecond = "operations/s"
	idleBytes = "bytes of each idle connection"
)

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "proxy_tls",
		Title:  "TLS at the proxy",
		Unit:   unit,
		Better: harness.Lower,
		About: "Clients use TLS 1.3 to the proxy, with the same certificate for all: ECDSA P-256; the key exchange is X25519. From the proxy to the backend it is HTTP/1.1 in cleartext. " +
			"Handshakes: 16 clients at a time connect, make a handshake, full or resumed by a ticket, and close the connection; what a connection costs besides its handshake is included. " +
			"Requests: a POST with a body of 1 KiB and a response with one, over 100 connections of HTTP/1.1, or over 5 connections of HTTP/2 with 20 requests in flight each. " +
			"CPU time is the proxy's own, user and system, by the kernel's account. The proxy has core 0 to itself; client and backend share core 1, so the client's own handshakes limit their rate: compare CPU time. " +
			"Idle connections have carried one request each: bytes are by how much the proxy's anonymous memory (RssAnon) grows with the last 5000 of 6000 connections, over 5000. " +
			"The client verifies the certificate and every response.",
		Figures: []string{perSecond, idleBytes, proxytrial.P50, proxytrial.P95, proxytrial.P99, proxytrial.Anonymous, proxytrial.CPU, proxytrial.Failures, harness.Foreign},
		Plot:    []string{full, resumed, http1, http2},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "each row makes handshakes, resumes sessions, and responds to every request with the request's own bytes", Run: e.checkResponses},
		},
		Goals: goals(),
		Notes: append([]string{
			"ferry is `ferry run` with the settings of examples/proxy/tls.yaml, and the addresses and the certificate of this question. crypto/tls does its handshakes; the peers' are OpenSSL's (nginx, HAProxy) and BoringSSL's (Envoy).",
			"Post-quantum key exchange (X25519MLKEM768) is off: the client offers X25519 only. OpenSSL 3.0 does not have it.",
			"httputil.ReverseProxy is what crypto/tls costs with a goroutine for each connection.",
			"What the kernel holds for a connection, some 5 KB at each end, is not counted.",
		}, e.notes...),
	}
	for _, c := range cases {
		q.Cases = append(q.Cases, c.name)
	}
	for _, c := range e.contenders {
		q.Contenders = append(q.Contenders, harness.Contender{Name: c.name, Kind: c.kind, Version: c.version, Open: e.open(c)})
	}
	return q
}

func goals() []harness.Goal {
	timesNginx := func(name string) func(*harness.Result) float64 {
		return func(r *harness.Result) float64 { return r.Ratio(ferryRow, nginx, name, unit) }
	}
	return []harness.Goal{
		harness.AtMost(1.5, full+": CPU time, times nginx's", timesNginx(full)),
		harness.AtMost(1.5, resumed+": CPU time, times nginx's", timesNginx(resumed)),
		harness.AtMost(1.1, http1+": CPU time, times nginx's", timesNginx(http1)),
		harness.AtMost(1.1, http2+": CPU time, times nginx's", timesNginx(http2)),
		harness.AtMost(0.4, idle+": bytes, times the best of nginx, HAProxy and Envoy", func(r *harness.Result) float64 {
			worst := math.NaN()
			for _, peer := range []string{nginx, "HAProxy", "Envoy"} {
				if x := r.Ratio(ferryRow, peer, idle, idleBytes); !math.IsNaN(x) && !(x < worst) {
					worst = x
				}
			}
			return worst
		}),
		harness.AtMost(0, "failures, of all cases", func(r *harness.Result) float64 {
			sum := 0.0
			for _, c := range cases {
				sum += r.Stat(ferryRow, c.name, proxytrial.Failures).Max
			}
			return sum
		}),
	}
}
