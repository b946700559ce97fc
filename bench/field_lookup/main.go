// Field_lookup measures how long it takes to find one field of an encoded message, with the seed's workload.
package main

import (
	"fmt"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/format/bson"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/format/msgpack"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/format/y3"
)

func main() { harness.Main(question()) }

// y3Share is the part of the CPU time of a loop over Y3 and another encoding which goes to Y3.
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
			"except fastjson and encoding/json to map[string]any. Keys stand in order; in the shuffled case " +
			fmt.Sprint(shuffledDocs) + " messages with keys in random order take turns, as the seed's generator made them without saying so. " +
			"Cold goes through 256 MiB and more of messages; four fields are keys 8, 16, 24 and 32, which ferry finds in one pass and the others one after the other; " +
			"validated is the lookup behind a validation of the whole message. CPU time is that of the whole process, the garbage collector included.",
		Cases:   append(append([]string{}, cases...), cold, four, validated, both),
		Figures: []string{harness.AllocsPerOp, harness.BytesPerOp, harness.ParallelPerOp, harness.Growth, harness.CPUPerOp, y3Share},
		Plot:    []string{c63, c32, c16, c03},
		Checks: []harness.Check{
			{Name: "the messages are as long as those the recorded rows were measured with", Run: checkSizes},
			{Name: "each contender finds the same value, byte for byte, in each message of each case, and none for an absent key", Run: func() error { return checkFinds(rows) }},
			{Name: "four fields are the four values", Run: func() error { return checkFour(rows) }},
			{Name: "each of ferry's formats finds each message valid", Run: func() error { return checkValid(rows) }},
		},
		Goals: goals(rows),
		Notes: []string{
			"The seed's own figures (2020, Core i7 with 12 threads): JSON over Y3 20.7, 15.8, 6.2, 3.3; parallel over serial 2.9, 2.6, 3.2, 3.5 for Y3; Y3 took 0.07 of 0.80 of the CPU time.",
			"A limit scan is written by hand for just these messages, as one would: each read is checked. The tighter one of Y3 makes one comparison a packet, which is how ferry scans. Both know the shape of the message; ferry follows a path and knows the whole format.",
			"In C03 a call through an interface is a large part of ferry's rows: Go generates a method that loads the value of the format, so such a call is two calls. The limit scan is called directly.",
			"FlatBuffers reads the place of a field from a table in the message, and checks nothing. It is no peer of any of the formats: it shows what an index buys.",
			"Recorded rows were taken on another day on a machine of the same kind, with the seed's code built from its public source; its modules cannot be had from the module proxy. They are the best of four runs; the goals hold ferry's best round against them.",
			"The part of the CPU time is not read from a profile, as the seed's is: at 100 samples a second a profile of this loop would hold a handful of samples of Y3. It is the CPU time of Y3 alone over that of the loop with both.",
			"fxamacker, fastjson and encoding/json read the whole message and check it; the others and ferry stop at the hit.",
		},
	}
	for _, c := range rows {
		q.Contenders = append(q.Contenders, harness.Contender{
			Name: c.name, Kind: c.kind, Version: c.version,
			Measure: func(name string, budget time.Duration) (harness.Figures, error) {
				if name == both {
					return measureBoth(rows[0], c, budget), nil
				}
				return c.measure(name, budget), nil
			},
		})
	}
	q.Contenders = append(q.Contenders, recorded...)
	return q
}

// contenders are the measured rows; the first is ferry's Y3.
func contenders() []contender {
	rows := []contender{
		ferryRow(ferryY3, &inY3, y3.Format{}),
		ferryRow(ferryProtobuf, &inProtobuf, protobuf.Format{}),
		ferryRow(ferryIntCBOR, &inIntCBOR, cbor.Format{}),
		ferryRow(ferryCBOR, &inCBOR, cbor.Format{}),
		ferryRow(ferryMsgpack, &inMsgpack, msgpack.Format{}),
		ferryRow(ferryBSON, &inBSON, bson.Format{}),
		ferryRow(ferryJSON, &inJSON, json.Format{}),
		scanRow(limit, &inY3, limitScan, y3Key),
		scanRow(tight, &inY3, tightScan, y3Key),
		scanRow(limitProtobuf, &inProtobuf, protobufScan, func(key int) int { return key }),
		scanRow(limitIntCBOR, &inIntCBOR, intCBORScan, func(key int) int { return key }),
		scanRow(limitCBOR, &inCBOR, cborScan, textKey),
		scanRow(limitMsgpack, &inMsgpack, msgpackScan, textKey),
		scanRow(limitBSON, &inBSON, bsonScan, textKey),
		scanRow(limitJSON, &inJSON, jsonScan, textKey),
	}
	return append(rows, peers()...)
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

func checkFour(rows []contender) error {
	for _, c := range rows {
		if !c.agreesOnFour() {
			return fmt.Errorf("%s: wrong values", c.name)
		}
	}
	return nil
}

func checkValid(rows []contender) error {
	for _, c := range rows {
		for name, w := range workloads {
			f := c.finder(w.key)
			for _, doc := range w.docs(c.in) {
				if f.full != nil && w.present && f.full(doc) == 0 {
					return fmt.Errorf("%s, %s: refused", c.name, name)
				}
			}
		}
	}
	return nil
}
