// Predicate measures a filter over two fields of a message, with and without decoding the message.
package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/ferry/bench/internal/harness"
)

func main() { harness.Main(question()) }

// The names of the rows that goals refer to.
const (
	ferry          = "ferry"
	ferryValidated = "ferry, validated"
)

func question() harness.Question {
	rows := contenders()
	q := harness.Question{
		Name:   "predicate",
		Title:  "Testing two fields of a 1 kB event",
		Unit:   harness.NsPerOp,
		Better: harness.Lower,
		About: `Micro. The filter is deviceName == "pump-1" && readings.0.value > 30, over events of five readings, of which a half passes. ` +
			"Ferry reads the two fields from the encoded message and stops behind the second one; its other row validates the whole message first, as a node does where messages enter. " +
			"The peers decode the event to a struct of just its fields, which is faster than to a map, and test it with a line of Go, with expr, or with CEL.",
		Figures: []string{harness.AllocsPerOp, harness.BytesPerOp},
		Checks: []harness.Check{
			{Name: "the events have about 1 kB", Run: checkSize},
			{Name: "all contenders let the same events pass", Run: func() error { return checkAgree(rows) }},
		},
		Notes: []string{
			"CEL gets the two fields of the decoded event, which is kinder to it than a map of all of them.",
			"Protobuf is decoded by hand-written code over protowire, as a generator would write it. Y3 has no other decoder in Go that is kept up.",
		},
	}
	for _, f := range forms {
		q.Cases = append(q.Cases, f.name)
		if hasPeer(rows, f.name) {
			q.Goals = append(q.Goals,
				harness.AtLeast(10, f.name+": times faster than the best of the others", fasterThanBest(rows, ferry, f.name)),
				harness.AtLeast(1, f.name+": validated, times faster than the best of the others", fasterThanBest(rows, ferryValidated, f.name)))
		}
	}
	q.Goals = append(q.Goals, harness.AtMost(0, "allocations, worst of the formats", mostAllocs))
	for _, c := range rows {
		q.Contenders = append(q.Contenders, harness.Contender{
			Name: c.name, Kind: c.kind, Version: c.version,
			Measure: func(name string, budget time.Duration) (harness.Figures, error) {
				for _, f := range forms {
					if f.name == name {
						return c.measure(f, budget), nil
					}
				}
				return nil, fmt.Errorf("no case %q", name)
			},
		})
	}
	return q
}

func checkAgree(rows []contender) error {
	passed := 0
	for _, f := range forms {
		for i, e := range events() {
			doc := f.encode(e)
			for _, c := range rows {
				if decide := c.by[f.name]; decide != nil && decide(doc) != e.passes() {
					return fmt.Errorf("%s, %s, event %d: not %v", c.name, f.name, i, e.passes())
				}
			}
			if e.passes() {
				passed++
			}
		}
	}
	if total := len(forms) * len(events()); 2*passed != total {
		return fmt.Errorf("%d of %d events pass, want a half", passed, total)
	}
	return nil
}

func hasPeer(rows []contender, form string) bool {
	return slices.ContainsFunc(rows, func(c contender) bool { return c.kind == harness.Peer && c.by[form] != nil })
}

// fasterThanBest returns the time of the fastest peer divided by the time of row. At least one peer must have a figure.
func fasterThanBest(rows []contender, row, form string) func(*harness.Result) float64 {
	return func(r *harness.Result) float64 {
		best := math.NaN()
		for _, c := range rows {
			if c.kind == harness.Peer && c.by[form] != nil {
				if x := r.Ratio(c.name, row, form, harness.NsPerOp); math.IsNaN(best) || x < best {
					best = x
				}
			}
		}
		return best
	}
}

func mostAllocs(r *harness.Result) float64 {
	most := 0.0
	for _, row := range []string{ferry, ferryValidated} {
		for _, f := range forms {
			most = max(most, r.Stat(row, f.name, harness.AllocsPerOp).Max)
		}
	}
	return most
}
