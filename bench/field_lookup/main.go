// Field_lookup asks how long it takes to find one field of an encoded message, with the seed's workload.
package main

import (
	"fmt"
	"math"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/format/y3"
)

func main() { harness.Main(question()) }

// both is the case of the seed's cpu_pprof: one loop that looks the field up in Y3 and then in the other encoding.
const both = c63 + ", Y3 and this in one loop"

// y3Share is the part of the CPU time of that loop which goes to Y3.
const y3Share = "Y3's part of the CPU time, %"

func question() harness.Question {
	rows := contenders()
	q := harness.Question{
		Name:   "field_lookup",
		Title:  "Finding one field of an encoded message",
		Unit:   harness.NsPerOp,
		Better: harness.Lower,
		About: "Micro. A message of N keys holds the seed's seven values in turn, and one key is looked for: C63-K32 is the 32nd of 63. " +
			"Ferry goes through the format.Format interface with a path parsed at run time. All rows locate the value and do not convert it, " +
			"except encoding/json to map[string]any, which is how the seed reads JSON. Keys stand in order; in the shuffled case " +
			fmt.Sprint(shuffledDocs) + " messages with keys in random order take turns, as the seed's generator made them without saying so. " +
			"CPU time is that of the whole process, the garbage collector included.",
		Cases:   append(append([]string{}, cases...), both),
		Figures: []string{harness.AllocsPerOp, harness.BytesPerOp, harness.ParallelPerOp, harness.Growth, harness.CPUPerOp, y3Share},
		Plot:    []string{c63, c32, c16, c03},
		Checks: []harness.Check{
			{Name: "the messages are as long as those the recorded rows were measured with", Run: checkSizes},
			{Name: "each contender finds the same value, byte for byte, in each message of each case, and none for an absent key", Run: func() error { return checkFinds(rows) }},
		},
		Goals: []harness.Goal{
			harness.AtMost(1.15, "C63-K32, times the limit scan", over(limit, c63)),
			harness.AtMost(1.15, "worst of the cases, times the limit scan", over(limit, cases...)),
			harness.AtMost(1.15, "C63-K32, times the tighter limit scan", over(tight, c63)),
			harness.AtLeast(25, "C63-K32, times faster than the seed's Y3 as recorded", fasterThanSeed(c63)),
			harness.AtLeast(25, "worst of the four sizes, times faster than the seed's Y3 as recorded", fasterThanSeed(c63, c32, c16, c03)),
			harness.AtMost(0, "allocations per lookup, worst of the cases", mostAllocs),
		},
		Notes: []string{
			"The seed's own figures (2020, Core i7 with 12 threads): JSON over Y3 20.7, 15.8, 6.2, 3.3; parallel over serial 2.9, 2.6, 3.2, 3.5 for Y3; Y3 took 0.07 of 0.80 of the CPU time.",
			"The limit scan is written as one would: each read is checked. The tighter one makes one comparison a packet, which is how ferry scans; it knows the shape of the message, ferry follows a path.",
			"Recorded rows were taken on another day on a machine of the same kind, with the seed's code built from its public source; its modules cannot be had from the module proxy. They are the best of four runs; the goals hold ferry's best round against them.",
			"The part of the CPU time is not read from a profile, as the seed's is: at 100 samples a second a profile of this loop would hold a handful of samples of Y3. It is the CPU time of Y3 alone over that of the loop with both.",
			"fxamacker and encoding/json read the whole message and check it; gjson, sonic.Get, jsonparser and ferry stop at the hit.",
		},
	}
	for _, c := range rows {
		q.Contenders = append(q.Contenders, harness.Contender{
			Name: c.name, Kind: c.kind, Version: c.version,
			Measure: func(name string, budget time.Duration) (harness.Figures, error) {
				if name == both {
					return measureBoth(rows[0], c, budget), nil
				}
				return c.measure(workloads[name], budget), nil
			},
		})
	}
	q.Contenders = append(q.Contenders, recorded...)
	return q
}

// The names of the rows that goals refer to.
const (
	ferryY3 = "ferry"
	limit   = "limit scan"
	tight   = "limit scan, one comparison a packet"
	seedY3  = "seed Y3, as recorded"
)

// contenders are the measured rows; the first is ferry's Y3.
func contenders() []contender {
	rows := []contender{
		ferryRow(ferryY3, y3.Format{}, y3Docs, workload.y3Path, wantY3),
		ferryRow("ferry cbor", cbor.Format{}, cborDocs, workload.name, contentCBOR),
		ferryRow("ferry json", json.Format{}, jsonDocs, workload.name, contentJSON),
		scanRow(limit, limitScan),
		scanRow(tight, tightScan),
	}
	return append(rows, peers...)
}

// recorded are the seed's functions TakeValueFromCodec (y3-codec v0.2.1) and TakeValueFromJson.
var recorded = []harness.Contender{
	{
		Name: seedY3, Kind: harness.Seed, Version: "y3-codec v0.2.1, recorded on another day",
		Recorded: map[string]harness.Figures{
			c63:  {harness.NsPerOp: 1240, harness.BytesPerOp: 816, harness.AllocsPerOp: 75, harness.ParallelPerOp: 720, harness.Growth: 1.73},
			c32:  {harness.NsPerOp: 703, harness.BytesPerOp: 560, harness.AllocsPerOp: 43, harness.ParallelPerOp: 432, harness.Growth: 1.63},
			c16:  {harness.NsPerOp: 440, harness.BytesPerOp: 432, harness.AllocsPerOp: 27, harness.ParallelPerOp: 267, harness.Growth: 1.65},
			c03:  {harness.NsPerOp: 280, harness.BytesPerOp: 336, harness.AllocsPerOp: 15, harness.ParallelPerOp: 179, harness.Growth: 1.57},
			both: {y3Share: 5.8},
		},
	},
	{
		Name: "seed JSON, as recorded", Kind: harness.Seed, Version: "encoding/json of Go 1.26.8, recorded on another day",
		Recorded: map[string]harness.Figures{
			c63: {harness.NsPerOp: 19835, harness.BytesPerOp: 13744, harness.AllocsPerOp: 266, harness.ParallelPerOp: 11165, harness.Growth: 1.78},
			c32: {harness.NsPerOp: 10123, harness.BytesPerOp: 6816, harness.AllocsPerOp: 143, harness.ParallelPerOp: 5660, harness.Growth: 1.79},
			c16: {harness.NsPerOp: 4884, harness.BytesPerOp: 3392, harness.AllocsPerOp: 78, harness.ParallelPerOp: 3182, harness.Growth: 1.58},
			c03: {harness.NsPerOp: 1019, harness.BytesPerOp: 672, harness.AllocsPerOp: 20, harness.ParallelPerOp: 572, harness.Growth: 1.81},
		},
	},
}

// measureBoth runs a loop that looks the field up by a and then by b, and says how much of the CPU time a takes. A
// contender beside itself says nothing.
func measureBoth(a, b contender, budget time.Duration) harness.Figures {
	if a.name == b.name || b.kind == harness.Limit {
		return nil
	}
	first, second := a.prepare(workloads[c63]).op, b.prepare(workloads[c63]).op
	alone := harness.Time(first, budget/2)[harness.CPUPerOp]
	loop := harness.Time(func(n int) {
		for range n {
			first(1)
			second(1)
		}
	}, budget)[harness.CPUPerOp]
	return harness.Figures{harness.CPUPerOp: loop, y3Share: 100 * alone / loop}
}

func checkFinds(rows []contender) error {
	for _, c := range rows {
		for _, name := range cases {
			if !c.agrees(workloads[name]) {
				return fmt.Errorf("%s, %s: wrong value", c.name, name)
			}
		}
	}
	return nil
}

// over is the largest ratio to a row among the cases.
func over(row string, names ...string) func(*harness.Result) float64 {
	return func(r *harness.Result) float64 {
		worst := 0.0
		for _, name := range names {
			worst = max(worst, r.Ratio(ferryY3, row, name, harness.NsPerOp))
		}
		return worst
	}
}

// fasterThanSeed is the smallest ratio of the seed's Y3 to ferry's among the cases. What was recorded is the best of four
// runs, so ferry's best round stands against it.
func fasterThanSeed(names ...string) func(*harness.Result) float64 {
	return func(r *harness.Result) float64 {
		worst := math.Inf(1)
		for _, name := range names {
			worst = min(worst, r.Stat(seedY3, name, harness.NsPerOp).Median/r.Stat(ferryY3, name, harness.NsPerOp).Min)
		}
		return worst
	}
}

func mostAllocs(r *harness.Result) float64 {
	most := 0.0
	for _, name := range cases {
		most = max(most, r.Stat(ferryY3, name, harness.AllocsPerOp).Max)
	}
	return most
}
