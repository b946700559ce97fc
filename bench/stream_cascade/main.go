// Stream_cascade measures what a second node in a row costs: two nodes, of which one forwards to the other, against one.
package main

import (
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/pubsub"
)

func main() {
	pubsub.Main()
	harness.Main(question())
}

// The names of the rows.
const (
	oneTCP  = "one node, tcp"
	twoTCP  = "two nodes, tcp"
	oneQUIC = "one node, quic"
	twoQUIC = "two nodes, quic"
)

// The names of the figures.
const (
	perNode    = "cpu us/msg of a node"
	firstCPU   = "cpu us/msg, first node"
	secondCPU  = "cpu us/msg, second node"
	sendRate   = "msg/s sent"
	p50        = "p50 us"
	p99        = "p99 us"
	validated  = "validated at the second node"
	throughput = "msg/s at full speed"
)

func question() harness.Question {
	e := &experiment{rates: map[string]float64{}}
	q := harness.Question{
		Name:   "stream_cascade",
		Title:  "Two nodes in a row against one",
		Unit:   perNode,
		Better: harness.Lower,
		About: "A source, one or two nodes, and a function, each a process of one machine. Each node is ferry's binary, `ferry run -c`, with metrics, limits, timeouts and " +
			"identities on, and full validation at the first. In the rows with two nodes the first one forwards all tags to the second, where the function is; its identity " +
			"there has the verbs forward and trust_validation. All rows carry the same EdgeX events in CBOR, which the function compares byte for byte, in order. They are sent at " +
			"a rate that does not depend on the row: a quarter of what one node reached at full speed in the same round. The headline is the CPU time of the nodes for a message (from /proc), " +
			"divided by the number of nodes. Latency is from when a message was due to when the function has it.",
		Figures: []string{firstCPU, secondCPU, sendRate, p50, p99, throughput, validated},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "in each row and case all messages arrive, once, in order and byte for byte, and the second node validates none; again in each measurement", Run: e.check},
		},
		Notes: []string{
			"The first node of two keeps a copy of each message until the second one has confirmed it, and validates it; the second does neither.",
			"A link writes to its disk while the other node cannot take its messages. A measurement in which it did is an error.",
			"At full speed two nodes share the cores with the source and the function: the rates of these rows are no ratio of nodes.",
		},
	}
	for _, s := range sizes {
		q.Cases = append(q.Cases, s.Name)
		for _, pair := range [][2]string{{twoTCP, oneTCP}, {twoQUIC, oneQUIC}} {
			q.Goals = append(q.Goals, harness.AtMost(1.1, s.Name+": "+pair[0]+", CPU of a node and message, times that of "+pair[1], func(r *harness.Result) float64 {
				return r.Ratio(pair[0], pair[1], s.Name, perNode)
			}), harness.AtMost(0, s.Name+": "+pair[0]+", messages validated at the second node", func(r *harness.Result) float64 {
				return r.Stat(pair[0], s.Name, validated).Median
			}))
		}
	}
	for _, r := range rows { // the rows with one node come first: their rates are those of the others
		q.Contenders = append(q.Contenders, e.contender(r))
	}
	return q
}
