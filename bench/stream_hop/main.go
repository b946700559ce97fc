// Stream_hop measures a node's work for one message, from header to queue, without a network.
package main

import (
	"math"

	"example.com/ferry/bench/internal/harness"
)

func main() { harness.Main(question()) }

// The message sizes, with the names of the sub-benchmarks of BenchmarkHop.
var sizes = []struct{ name, sub string }{{"100 B", "100"}, {"1 KiB", "1024"}, {"64 KiB", "65536"}}

const (
	plain  = "no predicate"
	where  = "predicate"
	copied = "one copy"
)

var validations = []string{"full", "bounds", "off"}

func question() harness.Question {
	b := new(benchmark)
	q := harness.Question{
		Name:   "stream_hop",
		Title:  "A node's work for one message",
		Unit:   harness.NsPerOp,
		Better: harness.Lower,
		About: "Micro. One publisher, three subscriptions, EdgeX events in CBOR: the node reads the frame's header, validates the payload, " +
			"evaluates the predicate `deviceName == \"pump-1\" && readings.0.value > 30` once, counts, takes credit and queues the message for each of the three. " +
			"What arrives lies in memory and what is queued is thrown away, so no system call is in it. " +
			"The limit copies the payload once. The rows run ferry's own BenchmarkHop, built once from this commit.",
		Figures: []string{harness.AllocsPerOp, harness.BytesPerOp},
		Prepare: b.build,
		Checks: []harness.Check{
			{Name: "each message reaches each of the three subscribers, in each mode and size", Run: b.check},
		},
		Goals: []harness.Goal{
			harness.AtMost(0, "allocations per message, worst of all rows", mostAllocs),
		},
		Notes: []string{
			"validate: full reads all of a message, bounds its structure and lengths, off nothing. A listener's default is full.",
			"Messages of 16 KiB and more lie in a buffer of their own that the three queues share; smaller ones are copied into each queue.",
		},
	}
	for _, s := range sizes {
		q.Cases = append(q.Cases, s.name)
	}
	for _, filter := range []struct {
		name, sub string
		limit     float64
	}{{where, "where", 100}, {plain, "plain", 50}} {
		for _, v := range validations {
			q.Contenders = append(q.Contenders, b.row(row(v, filter.name), harness.Ferry, filter.sub+"/"+v))
			q.Goals = append(q.Goals, harness.AtMost(filter.limit, filter.name+", validate "+v+": ns on top of one copy, worst of the sizes", above(row(v, filter.name))))
		}
	}
	q.Contenders = append(q.Contenders, b.row(copied, harness.Limit, "memcpy"))
	return q
}

func row(validation, filter string) string { return "ferry, validate " + validation + ", " + filter }

// above returns the largest difference, over all sizes, between the time of the row and the time of the copy.
func above(name string) func(*harness.Result) float64 {
	return func(r *harness.Result) float64 {
		worst := math.Inf(-1)
		for _, s := range sizes {
			worst = max(worst, r.Stat(name, s.name, harness.NsPerOp).Median-r.Stat(copied, s.name, harness.NsPerOp).Median)
		}
		return worst
	}
}

func mostAllocs(r *harness.Result) float64 {
	most := 0.0
	for _, row := range r.Rows {
		for _, s := range sizes {
			most = max(most, r.Stat(row.Name, s.name, harness.AllocsPerOp).Max)
		}
	}
	return most
}
