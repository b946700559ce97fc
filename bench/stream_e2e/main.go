// Stream_e2e measures throughput and latency of messages from a source through a node to a function.
package main

import (
	"math"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/pubsub"
)

func main() {
	pubsub.Main()
	harness.Main(question())
}

// The names of the rows that goals refer to.
const (
	ferryQUIC = "ferry quic"
	ferryTCP  = "ferry tcp"
	relayQUIC = "QUIC relay"
	relayTCP  = "TCP relay"
	natsCore  = "NATS core"
)

// The names of the figures.
const (
	perSecond   = "msg/s"
	allocated   = "B allocated/msg, all three"
	sourceAlloc = "B allocated/msg, source"
	nodeAlloc   = "B allocated/msg, node"
	functAlloc  = "B allocated/msg, function"
	sourceCPU   = "cpu us/msg, source"
	nodeCPU     = "cpu us/msg, node"
	functCPU    = "cpu us/msg, function"
)

// load is the rate at which messages are sent, as a part of a row's own rate or of the relay's.
type load struct {
	name  string
	part  float64
	relay bool
}

var loads = []load{{"10 %", 0.1, false}, {"50 %", 0.5, false}, {"10 % of the relay's rate", 0.1, true}}

func (l load) p50() string { return "p50 us at " + l.name }
func (l load) p99() string { return "p99 us at " + l.name }

func question() harness.Question {
	e := &experiment{relays: map[string]*session{}}
	q := harness.Question{
		Name:   "stream_e2e",
		Title:  "From a source through a node to a function",
		Unit:   perSecond,
		Better: harness.Higher,
		About: "Three processes on one machine. The node is ferry's binary, `ferry run -c` with the configuration it ships with: metrics, limits, timeouts, " +
			"identities and full validation on; source and function use package stream. The source adds messages to a stream.Batch, and sends this before it sleeps; " +
			"the relays' source flushes its buffer then. One row calls Source.Send for each message. All rows carry the same EdgeX events in CBOR, the same number of them, " +
			"and the function compares each one byte for byte, in order. Messages a second: sent as fast as the system takes them, from the first one sent to the last one received. " +
			"Latency: sent at a rate that does not depend on the system, from when a message was due to when the function has it, by the machine's clock. " +
			"Allocation and CPU time are those of the processes during the first of these. All rows of a case run side by side and take turns: in ten slices a round, " +
			"each sends for 80 ms at full speed and for 40 ms at each load, while the others are idle. A round's figure is the median of its slices.",
		Figures: []string{allocated, sourceAlloc, nodeAlloc, functAlloc},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "in each row and case all messages arrive, once, in order and byte for byte; again in each measurement", Run: e.check},
		},
		Notes: []string{
			"QUIC encrypts both ways and TCP here does not: on loopback, without loss, TCP has the lesser work. See stream_loss for the other side.",
			"The relays read a frame's length and pass the frame on, through 256 KiB buffers: no tags, identities, credit, limits, validation or counters. The QUIC relay has ferry's QUIC library, windows and kind of certificate.",
			"NATS core drops what a slow subscriber does not take. So that all arrives, its function reports each MiB received and its source keeps at most 4 MiB on the way.",
			"YoMo was recorded on another day, all in one process, with source, node and function on the same two cores; its rows moved by up to two times between runs: 55 to 108, 15 to 43, and 1.5 to 1.7 thousand messages a second. The table has the middle, for 1 KiB the usual value.",
			"All messages have one shape: after the first ones, ferry's node validates them by comparison (docs/why/003). Messages without a common shape cost it about 80 ns more at 100 B.",
			"Latency at 10 % of the relay's rate compares rows at the same load: ferry tcp and NATS core with the TCP relay's, ferry quic with the QUIC relay's. A row that cannot keep up shows its backlog there.",
			"Allocation is the median of the slices, too: until their queues have been full once, the pools of buffers grow, at 64 KiB by up to 600 B a message in the first slice.",
			"A source that sleeps is woken late by the kernel; a message that was due meanwhile counts as sent when the source woke.",
		},
	}
	for _, l := range loads {
		q.Figures = append(q.Figures, l.p50(), l.p99())
	}
	q.Figures = append(q.Figures, sourceCPU, nodeCPU, functCPU)
	for _, s := range sizes {
		q.Cases = append(q.Cases, s.Name)
		q.Goals = append(q.Goals, goals(s.Name)...)
	}
	for _, r := range rows {
		q.Contenders = append(q.Contenders, e.contender(r))
	}
	q.Contenders = append(q.Contenders, yomo)
	return q
}

func goals(size string) []harness.Goal {
	ratio := func(a, b, figure string) func(*harness.Result) float64 {
		return func(r *harness.Result) float64 { return r.Ratio(a, b, size, figure) }
	}
	return []harness.Goal{
		harness.AtLeast(0.8, size+": ferry quic, times the QUIC relay's rate", ratio(ferryQUIC, relayQUIC, perSecond)),
		harness.AtLeast(0.6, size+": ferry tcp, times the TCP relay's rate", ratio(ferryTCP, relayTCP, perSecond)),
		harness.AtLeast(1, size+": ferry tcp, times NATS core's rate", ratio(ferryTCP, natsCore, perSecond)),
		harness.AtMost(1.2, size+": ferry quic, p50 at 10 % of its rate, times the QUIC relay's", ratio(ferryQUIC, relayQUIC, loads[0].p50())),
		harness.AtMost(1.2, size+": ferry tcp, p50 at 10 % of its rate, times the TCP relay's", ratio(ferryTCP, relayTCP, loads[0].p50())),
		harness.AtMost(1.2, size+": ferry quic, p50 at the same load, times the QUIC relay's", ratio(ferryQUIC, relayQUIC, loads[2].p50())),
		harness.AtMost(1.2, size+": ferry tcp, p50 at the same load, times the TCP relay's", ratio(ferryTCP, relayTCP, loads[2].p50())),
		harness.AtMost(64, size+": ferry tcp, bytes allocated a message", func(r *harness.Result) float64 {
			return r.Stat(ferryTCP, size, allocated).Median
		}),
		harness.AtMost(64, size+": ferry quic, bytes allocated a message on top of the QUIC relay's", func(r *harness.Result) float64 {
			return math.Max(0, r.Stat(ferryQUIC, size, allocated).Median-r.Stat(relayQUIC, size, allocated).Median)
		}),
	}
}
