// Event_hop measures a hop through an EdgeX app service, in each form of EdgeX messages: a message arrives from the bus, its
// device name is tested, it gets other IDs and is sent on.
package main

import (
	"math"

	"example.com/ferry/bench/internal/harness"
)

func main() { harness.Main(question()) }

func question() harness.Question {
	rows := contenders()
	q := harness.Question{
		Name:   "event_hop",
		Title:  "Passing an EdgeX message on, with another identity",
		Unit:   harness.NsPerOp,
		Better: harness.Lower,
		About: "Micro. A message of EdgeX's bus is opened, filtered by its device's name, which passes, and gets another correlation ID and another event ID, each a UUID for a UUID. " +
			"Its forms: CBOR is one map, envelope and payload; base64 is an envelope in JSON around base64 of CBOR, EdgeX's default for binary readings; JSON is an envelope in JSON around JSON. " +
			"The payload is an AddEventRequest with the seed's three readings, the third one random bytes, of which the sizes speak; or with readings of a number each. " +
			"Ferry finds and overwrites the fields where they stand, base64 included; validated, it reads the whole message first, strictly, as must be done once with messages from outside. " +
			"The peers decode envelope and request to structs, and encode them again.",
		Cases:   cases,
		Plot:    bySize,
		Figures: []string{harness.AllocsPerOp, harness.BytesPerOp, throughput},
		Checks: []harness.Check{
			{Name: "each row gives the message with the other identity and its whole payload, byte for byte, as encoded from the start", Run: func() error { return checkHops(rows) }},
			{Name: "each row that decides filters a message about another device out, and leaves it as it was", Run: func() error { return checkFilters(rows) }},
			{Name: "each row that reads the whole message refuses one with a byte behind it, or cut within its payload", Run: func() error { return checkWhole(rows) }},
		},
		Charts: func(r *harness.Result) ([]harness.Chart, error) {
			return []harness.Chart{
				r.Growth("sizes", "A hop: growth with the payload", "bytes in the third of three readings", []harness.Tick{
					{At: 100, Label: byte100}, {At: 1000, Label: kib1}, {At: 64 << 10, Label: kib64}, {At: 1 << 20, Label: mib1}, {At: 12 << 20, Label: mib12},
				}),
				r.Growth("readings", "A hop: growth with the number of readings", "readings of a number", []harness.Tick{
					{At: 1, Label: one}, {At: 10, Label: ten}, {At: 100, Label: hundred}, {At: 1000, Label: thousand},
				}),
			}, nil
		},
		Goals: goals(),
		Notes: []string{
			"The peers are kinder to the libraries than EdgeX is: the payload has its struct from the start, and is decoded once. EdgeX's own modules, as recorded, decode it to a map and then to the struct, through a map again; with one reading.",
			"GB/s are bytes of the message as it is on the wire over time, for rows that read all of it. Validation of JSON is fast where it is long strings; 1000 readings are nothing but short ones. Ferry does not decode base64 to validate it: it checks the alphabet, and decodes what is not within byte strings.",
			"Limit: memcpy is what any program does that gives the message out in another place. Ferry's hop in place does less.",
		},
	}
	for _, c := range rows {
		q.Contenders = append(q.Contenders, harness.Contender{Name: c.name, Kind: c.kind, Version: c.version, Measure: c.measure})
	}
	q.Contenders = append(q.Contenders, recorded...)
	return q
}

func goals() []harness.Goal {
	var all []harness.Goal
	for _, f := range forms {
		all = append(all, harness.AtMost(500, f.name+": ns, worst of sizes and numbers of readings", func(r *harness.Result) float64 {
			worst := 0.0
			for _, name := range cases {
				worst = max(worst, r.Stat(ferry(f.name), name, harness.NsPerOp).Median)
			}
			return worst
		}))
	}
	all = append(all,
		harness.AtMost(0, "allocations, worst of forms and cases, validated or not", func(r *harness.Result) float64 {
			most := 0.0
			for _, f := range forms {
				for _, name := range cases {
					most = max(most, r.Stat(ferry(f.name), name, harness.AllocsPerOp).Max, r.Stat(validated(f.name), name, harness.AllocsPerOp).Max)
				}
			}
			return most
		}),
		harness.AtMost(1.2, "CBOR, validated: 12 MiB, times 100 B", func(r *harness.Result) float64 {
			return r.Stat(validated("CBOR"), mib12, harness.NsPerOp).Median / r.Stat(validated("CBOR"), byte100, harness.NsPerOp).Median
		}),
		harness.AtMost(12, "CBOR, validated: 1000 readings, times 100 readings", func(r *harness.Result) float64 {
			return r.Stat(validated("CBOR"), thousand, harness.NsPerOp).Median / r.Stat(validated("CBOR"), hundred, harness.NsPerOp).Median
		}))
	for _, form := range []string{"base64", "JSON"} {
		all = append(all, harness.AtLeast(4, form+", validated: GB/s, worst from 64 KiB up", func(r *harness.Result) float64 {
			least := math.Inf(1)
			for _, name := range []string{mib12, mib1, kib64} {
				least = min(least, r.Stat(validated(form), name, throughput).Median)
			}
			return least
		}))
	}
	return all
}
