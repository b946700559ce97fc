// Upgrade measures what clients see while a running server is replaced by another process: the longest gap between two responses.
package main

import (
	"math"

	"example.com/ferry/bench/internal/harness"
)

func main() { harness.Main(newExperiment().question()) }

// The cases.
const (
	kept      = "HTTP/1.1, kept connection"
	fresh     = "HTTP/1.1, new connections"
	http2     = "HTTP/2"
	https     = "HTTPS"
	boltCase  = "Bolt"
	mqttCase  = "MQTT"
	streamTCP = "stream over TCP"
	streamUDP = "stream over QUIC"
	calls     = "calls"
	durable   = "durable stream"
)

// The figures.
const (
	gap      = "ms of gap"
	calm     = "ms of gap without an upgrade"
	took     = "ms until the old process has ended"
	paused   = "ms without streams"
	failures = "failures"
	again    = "sent again"
)

// The goals.
const (
	mostWithout = 10.0   // ms
	mostDurable = 1000.0 // ms
)

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "upgrade",
		Title:  "A running server is replaced by another process",
		Unit:   gap,
		Better: harness.Lower,
		About: "One client sends a request a millisecond after each response. The gap is the longest time between two responses while the server is replaced, less the longest time in an " +
			"undisturbed second before. ferry gets POST /api/upgrade, nginx SIGUSR2 and then SIGQUIT, the master process of HAProxy SIGUSR2, and Envoy is started again with the next " +
			"--restart-epoch. The proxies forward to servers in the process of the client. Nothing is bound to a core.",
		Cases:   []string{kept, fresh, http2, https, boltCase, mqttCase, streamTCP, streamUDP, calls, durable},
		Figures: []string{calm, took, paused, failures, again, harness.Foreign},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "after an upgrade another process responds, and the one before has ended", Run: e.checkProcesses},
		},
		Notes: append([]string{
			"Each client does what its protocol permits: HTTP clients repeat requests that net/http repeats, the MQTT client connects again at once and sends what was not acknowledged, ferry's clients connect again by themselves.",
			"Envoy ends its old process after --parent-shutdown-time-s, here one second, whether it is idle or not. An idle process of nginx, HAProxy or ferry ends at once.",
			"The rows of durable streams have the embedded engine with the sync of its default; the others have no engine.",
			"A message of a stream without an engine that is acknowledged while its receiver connects again has no receiver, and counts as no failure.",
		}, e.notes...),
	}
	for _, s := range e.systems {
		kind := harness.Peer
		if s.name == ferryName {
			kind = harness.Ferry
		}
		q.Contenders = append(q.Contenders, harness.Contender{Name: s.name, Kind: kind, Version: s.version, Measure: e.measure(s)})
	}
	for _, name := range q.Cases {
		most := mostWithout
		if name == durable {
			most = mostDurable
		}
		q.Goals = append(q.Goals, harness.AtMost(most, name+": ms of gap", func(r *harness.Result) float64 { return r.Stat(ferryName, name, gap).Median }))
	}
	q.Goals = append(q.Goals, harness.AtMost(0, "failures, of all cases", func(r *harness.Result) float64 {
		most := math.NaN()
		for _, name := range q.Cases {
			if n := r.Stat(ferryName, name, failures).Max; math.IsNaN(most) || n > most {
				most = n
			}
		}
		return most
	}))
	return q
}
