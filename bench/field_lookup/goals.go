package main

import (
	"math"

	"example.com/ferry/bench/internal/harness"
)

// The names of the rows that goals refer to.
const (
	ferryY3       = "ferry"
	ferryProtobuf = "ferry protobuf"
	ferryIntCBOR  = "ferry cbor, integer keys"
	ferryCBOR     = "ferry cbor"
	ferryMsgpack  = "ferry msgpack"
	ferryBSON     = "ferry bson"
	ferryJSON     = "ferry json"

	limit         = "limit scan"
	tight         = "limit scan, one comparison a packet"
	limitProtobuf = "limit scan, protobuf"
	limitIntCBOR  = "limit scan, cbor, integer keys"
	limitCBOR     = "limit scan, cbor"
	limitMsgpack  = "limit scan, msgpack"
	limitBSON     = "limit scan, bson"
	limitJSON     = "limit scan, json"

	seedY3 = "seed Y3, as recorded"
)

// asked returns the goal of a format in the case C63-K32.
type asked struct {
	row, limit string
	ns         float64
}

var formats = []asked{
	{ferryY3, limit, 50},
	{ferryProtobuf, limitProtobuf, 55},
	{ferryIntCBOR, limitIntCBOR, 140},
	{ferryCBOR, limitCBOR, 195},
	{ferryMsgpack, limitMsgpack, 200},
	{ferryBSON, limitBSON, 200},
	{ferryJSON, limitJSON, 300},
}

func goals(rows []contender) []harness.Goal {
	all := []harness.Goal{
		harness.AtMost(1.15, "C63-K32, times the limit scan", over(ferryY3, limit, c63)),
		harness.AtMost(1.15, "worst of the cases, times the limit scan", over(ferryY3, limit, cases...)),
		harness.AtMost(1.15, "C63-K32, times the tighter limit scan", over(ferryY3, tight, c63)),
		harness.AtLeast(25, "C63-K32, times faster than the seed's Y3 as recorded", fasterThanSeed(c63)),
		harness.AtLeast(25, "worst of the four sizes, times faster than the seed's Y3 as recorded", fasterThanSeed(c63, c32, c16, c03)),
		harness.AtMost(0, "allocations per lookup, worst of formats and cases", mostAllocs),
	}
	for _, f := range formats {
		all = append(all, harness.AtMost(f.ns, f.row+": C63-K32, ns", func(r *harness.Result) float64 { return r.Stat(f.row, c63, harness.NsPerOp).Median }))
	}
	for _, f := range formats {
		all = append(all, harness.AtMost(1.2, f.row+": C63-K32, times its limit scan", over(f.row, f.limit, c63)))
	}
	for _, f := range formats {
		for _, p := range rows {
			if p.kind == harness.Peer && p.in == encodingOf(rows, f.row) {
				all = append(all, harness.AtMost(1, f.row+": C63-K32, times "+p.name, over(f.row, p.name, c63)))
			}
		}
	}
	for _, f := range formats {
		all = append(all, harness.AtMost(1.2, f.row+": four fields in one pass, times the last one alone", func(r *harness.Result) float64 {
			return r.Stat(f.row, four, harness.NsPerOp).Median / r.Stat(f.row, c63, harness.NsPerOp).Median
		}))
	}
	return all
}

func encodingOf(rows []contender, name string) *encoding {
	for _, c := range rows {
		if c.name == name {
			return c.in
		}
	}
	return nil
}

// over returns the largest ratio of row to other, over the cases in names.
func over(row, other string, names ...string) func(*harness.Result) float64 {
	return func(r *harness.Result) float64 {
		worst := 0.0
		for _, name := range names {
			worst = max(worst, r.Ratio(row, other, name, harness.NsPerOp))
		}
		return worst
	}
}

// fasterThanSeed returns the smallest ratio of the seed's Y3 time to ferry's Y3 time, over all cases. The recorded figures are
// the best of four runs, so this function compares them with ferry's best round.
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
	for _, f := range formats {
		for _, name := range cases {
			most = max(most, r.Stat(f.row, name, harness.AllocsPerOp).Max)
		}
	}
	return most
}
