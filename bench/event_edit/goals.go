package main

import (
	"math"
	"slices"

	"example.com/ferry/bench/internal/events"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/field"
	"example.com/ferry/format/cbor"
)

// The names of the rows that goals refer to.
const (
	ferry            = "ferry"
	ferryValidated   = "ferry, validated"
	ferrySpliced     = "ferry, other length, copied"
	ferryParts       = "ferry, other length, in parts"
	ferryJSON        = "ferry, JSON"
	ferryJSONSpliced = "ferry, JSON, other length, copied"
	ferryValues      = "ferry, by Go values"

	overwrite  = "limit: overwritten by hand"
	memcpy     = "limit: memcpy"
	unmodified = "limit: as it is"

	ugorjiZero = "ugorji, no copies, buffers reused"
)

var from64KiB = []string{large, medium, small, kib64}

func goals() []harness.Goal {
	all := slices.Concat(bySize, byReadings)
	return []harness.Goal{
		harness.AtMost(30, "same length, ns, worst of sizes and numbers of readings", worst(ferry, harness.NsPerOp, all)),
		harness.AtMost(400, "same length, validated, one reading, ns", worst(ferryValidated, harness.NsPerOp, []string{one})),
		harness.AtMost(4, "same length, validated, ns per CBOR item beyond one reading", perItem),
		harness.AtMost(0, "same length, B/op, worst of all cases, validated or not", func(r *harness.Result) float64 {
			return max(worst(ferry, harness.BytesPerOp, cases)(r), worst(ferryValidated, harness.BytesPerOp, cases)(r))
		}),
		harness.AtMost(1.1, "other length, in parts to a socket, times the unmodified bytes, worst from 64 KiB up", ratio(ferryParts, unmodified, socketTime, from64KiB)),
		harness.AtMost(1.1, "other length, copied, times memcpy, worst from 64 KiB up", ratio(ferrySpliced, memcpy, harness.NsPerOp, from64KiB)),
		harness.AtMost(1.1, "other length, copied, times the fastest decoder (ugorji without copies), worst of all sizes", ratio(ferrySpliced, ugorjiZero, harness.NsPerOp, bySize)),
		harness.AtMost(1, "other length, copied, JSON, times sjson, worst of all sizes", ratio(ferryJSONSpliced, "sjson.SetBytes", harness.NsPerOp, bySize)),
	}
}

// worst returns the largest median of a figure of one row, over all cases.
func worst(row, figure string, names []string) func(*harness.Result) float64 {
	return func(r *harness.Result) float64 {
		most := 0.0
		for _, name := range names {
			most = max(most, r.Stat(row, name, figure).Median)
		}
		return most
	}
}

// ratio returns the largest ratio of one row to another row, over all cases.
func ratio(row, other, figure string, names []string) func(*harness.Result) float64 {
	return func(r *harness.Result) float64 {
		most := 0.0
		for _, name := range names {
			most = max(most, r.Ratio(row, other, name, figure))
		}
		return most
	}
}

// perItem returns the cost of one more data item. It compares an event with 1000 readings and an event with one reading.
func perItem(r *harness.Result) float64 {
	more := r.Stat(ferryValidated, thousand, harness.NsPerOp).Median - r.Stat(ferryValidated, one, harness.NsPerOp).Median
	return more / float64(items(1000)-items(1))
}

// items counts the data items of an event in CBOR, keys included. RFC 8949, section 1.2.
func items(readings int) int {
	n := 0
	err := cbor.Format{}.Walk(events.CBOR(events.Simple(readings)), func(step field.Step, _ int, _ field.Span) error {
		if n++; step.Name != "" {
			n++
		}
		return nil
	})
	if err != nil {
		return math.MinInt // no goal is met
	}
	return n
}
