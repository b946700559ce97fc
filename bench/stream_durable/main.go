// Stream_durable measures messages that are stored: from publishing to the acknowledgement, and to the handler.
package main

import (
	"fmt"

	"example.com/ferry/bench/internal/durable"
	"example.com/ferry/bench/internal/harness"
)

func main() {
	durable.Main()
	harness.Main(question(variants()))
}

// variant is a case.
type variant struct {
	name     string
	replicas int
	always   bool // sync before each acknowledgement; otherwise each second
	size     int
}

// variants returns all cases. The first one is the headline.
func variants() (all []variant) {
	for _, always := range []bool{true, false} {
		for _, replicas := range []int{1, 3} {
			for _, size := range []int{256, 1 << 10} {
				sync := "interval"
				if always {
					sync = "always"
				}
				plural := "s"
				if replicas == 1 {
					plural = ""
				}
				all = append(all, variant{fmt.Sprintf("%s, %d replica%s, %s", sync, replicas, plural, durable.Size(size)), replicas, always, size})
			}
		}
	}
	return all
}

func question(cases []variant) harness.Question {
	e := &experiment{cases: cases, servers: map[string]*durable.Servers{}, users: map[string]int{}}
	q := harness.Question{
		Name:   "stream_durable",
		Title:  "Messages that are stored before they are acknowledged",
		Unit:   durable.Rate(durable.ToAck, durable.Many),
		Better: harness.Higher,
		About: "A client publishes to a stream on disk, over TCP, and waits until each message is acknowledged (ack), or until its handler has it (handler), one at a time " +
			"and 64 at a time from as many goroutines. The handler acknowledges each message. Servers, ferry's node and the client are processes of their own. " +
			"With sync always, a message is on the disk before it is acknowledged; with interval, within a second. Three replicas are three servers on one disk. " +
			"ferry is its binary with the streams of examples/stream/durable.yaml: with the embedded engine, or with these servers as its engine. " +
			"The limit is nats.go alone on the servers, which publishes each message by itself.",
		Figures: durable.Figures()[1:],
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "in each row and case each message reaches the handler once, byte for byte, and in order for each publisher; again in each measurement", Run: e.check},
		},
		Notes: []string{
			"The stream keeps the last 256 MiB. With the external engine a message passes two processes, ferry's node and a server.",
			"A goroutine publishes its next message when the last one was acknowledged, or handled: the figures at 64 at a time are those of a closed loop.",
		},
	}
	for _, v := range cases {
		q.Cases = append(q.Cases, v.name)
		q.Goals = append(q.Goals, goals(v)...)
	}
	for _, r := range rows {
		q.Contenders = append(q.Contenders, e.contender(r))
	}
	return q
}

// goals returns the goals of a case. The row of ferry is the one with the engine that has so many replicas.
func goals(v variant) []harness.Goal {
	row := string(durable.Ferry)
	if v.replicas > 1 {
		row = string(durable.FerryExternal)
	}
	ratio := func(figure string) func(*harness.Result) float64 {
		return func(r *harness.Result) float64 { return r.Ratio(row, string(durable.NATS), v.name, figure) }
	}
	oneByOne := 1.5
	switch {
	case v.replicas > 1:
		oneByOne = 0.9
	case v.always:
		oneByOne = 1
	}
	all := []harness.Goal{
		harness.AtLeast(oneByOne, v.name+": "+row+", messages a second acknowledged one at a time, times nats.go's", ratio(durable.Rate(durable.ToAck, 1))),
	}
	if v.always {
		many := 10.0
		if v.replicas > 1 {
			many = 5
		}
		all = append(all, harness.AtLeast(many, v.name+": "+row+", messages a second acknowledged with 64 publishers, times nats.go's", ratio(durable.Rate(durable.ToAck, durable.Many))))
	}
	return all
}
