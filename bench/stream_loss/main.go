// Stream_loss measures the latency of messages on a network that loses packets, and whether a client that changes its address
// loses messages.
package main

import (
	"fmt"
	"os"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/pubsub"
)

func main() {
	pubsub.Main()
	if err := possible(); err != nil {
		fmt.Fprintf(os.Stderr, "stream_loss: skipped: it needs Linux, root, ip and nft: %v\n", err)
		return
	}
	harness.Main(question())
}

// The figures, in milliseconds where they are times. Those without a tag are of the messages of all tags together.
const (
	p50      = "p50 ms"
	p99      = "p99 ms"
	p999     = "p99.9 ms"
	most     = "longest ms"
	bestTag  = "p99 ms, best tag"
	worstTag = "p99 ms, worst tag"
	worst999 = "p99.9 ms, worst tag"
	worst50  = "p50 ms, worst tag"
	connects = "connections made by a client"
)

const (
	ferryQUIC = "ferry quic"
	ferryTCP  = "ferry tcp"
	natsCore  = "NATS core"
)

// scene is a case.
type scene struct {
	name string
	loss int  // percent of the packets, each way
	move bool // the address of the source changes during the run
}

var scenes = []scene{{"1 % lost", 1, false}, {"no loss", 0, false}, {"5 % lost", 5, false}, {"new address", 0, true}}

func question() harness.Question {
	e := new(experiment)
	q := harness.Question{
		Name:   "stream_loss",
		Title:  "Messages over a network that loses packets, and from a client that moves",
		Unit:   p99,
		Better: harness.Lower,
		About: "Two network namespaces joined by a pair of virtual interfaces. In one the node, ferry's binary with the configuration it ships with; in the other " +
			fmt.Sprintf("a source and a function, two processes: each message crosses twice. %d tags take turns, %d messages of %d bytes a second in all, whatever the system does. ", tags, rate, size) +
			"nft drops packets at random where they arrive, in both namespaces. Latency counts from when a message was due; all messages arrived, in order and byte for byte. " +
			"In the last case the source's address is replaced while it publishes; the function stays beside the node.",
		Figures: []string{p50, p999, most, bestTag, worstTag, worst50, worst999, connects},
		Plot:    []string{"no loss", "1 % lost", "5 % lost"},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "a source that changes its address while it publishes over QUIC loses no message and connects once", Run: e.checkMove},
			{Name: "in each row all messages arrive, once, in order and byte for byte, where 5 % of the packets are lost; again in each measurement", Run: e.checkLoss},
		},
		Goals: []harness.Goal{
			harness.AtMost(0.5, fmt.Sprintf("p99 of %d tags, 1 %% lost: ferry quic, times ferry tcp", tags), ratio(ferryTCP, p99)),
			harness.AtMost(0.5, "p99 of the worst tag, 1 % lost: ferry quic, times ferry tcp", ratio(ferryTCP, worstTag)),
			harness.AtMost(0.5, fmt.Sprintf("p99 of %d tags, 1 %% lost: ferry quic, times NATS core", tags), ratio(natsCore, p99)),
			harness.AtMost(1, "connections made by a client that changes its address", func(r *harness.Result) float64 {
				return r.Stat(ferryQUIC, "new address", connects).Max
			}),
		},
		Notes: []string{
			"Without loss TCP has the lesser work: it does not encrypt here, and the kernel does what QUIC does in the process.",
			"The virtual interfaces add no delay: a round trip takes some tens of microseconds, far less than between machines. What loss costs is then the time until it is noticed: for TCP no less than the kernel's bounds for timers, most of all the 200 ms of its retransmission timer.",
			"Segmentation offload is limited to one packet, so that a loss is one packet's for both protocols.",
			"A client that moves is found again with the next thing it sends. A source sends all the time; a function that only receives may be silent for as long as the client's keep-alive, ten seconds, and what was sent to it meanwhile arrives then.",
			"TCP rows have no part in the last case: a TCP connection ends with the address it was made from.",
		},
	}
	for _, s := range scenes {
		q.Cases = append(q.Cases, s.name)
	}
	for _, r := range []row{
		{ferryQUIC, harness.Ferry, "this commit", pubsub.FerryQUIC},
		{ferryTCP, harness.Ferry, "this commit", pubsub.FerryTCP},
		{natsCore, harness.Peer, "nats-server " + harness.Version("github.com/nats-io/nats-server/v2"), pubsub.NATS},
	} {
		e.rows = append(e.rows, r)
		q.Contenders = append(q.Contenders, e.contender(r))
	}
	return q
}

func ratio(other, figure string) func(*harness.Result) float64 {
	return func(r *harness.Result) float64 { return r.Ratio(ferryQUIC, other, scenes[0].name, figure) }
}
