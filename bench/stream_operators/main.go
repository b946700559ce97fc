// Stream_operators measures values that pass a filter, a window and an aggregate.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/bytedance/sonic"

	"example.com/ferry/bench/internal/harness"
)

func main() { harness.Main(question()) }

// The names of the rows that goals refer to, and of the cases.
const (
	loop      = "loop in Go"
	ferryRow  = "ferry, Go"
	rxgoRow   = "rxgo"
	yamlRow   = "ferry, YAML"
	jsonLoop  = "loop in Go, encoding/json"
	sonicLoop = "loop in Go, sonic"
	benthos   = "benthos"
	byCount   = "mean of 100 values"
	byDevices = "mean of each of 100 devices and 10 s of event time"
)

// run passes events through a chain and returns what it passes on.
type run func([]event) ([]result, error)

// contender is a row of the report. It has a run for each case in which it takes part.
type contender struct {
	name    string
	kind    harness.Kind
	version string
	by      map[string]run
}

func contenders() []contender {
	return []contender{
		{ferryRow, harness.Ferry, "this commit", map[string]run{byCount: ferryByCount, byDevices: ferryByDevices}},
		{loop, harness.Limit, "", map[string]run{byCount: loopByCount, byDevices: loopByDevices}},
		{rxgoRow, harness.Peer, harness.Version("github.com/reactivex/rxgo/v2"), map[string]run{byCount: rxgoByCount}},
		{benthos, harness.Peer, harness.Version("github.com/redpanda-data/benthos/v4"), map[string]run{byCount: benthosByCount, byEncoded: benthosByEncoded}},
		{yamlRow, harness.Ferry, "this commit", map[string]run{byEncoded: pipelineByEncoded}},
		{jsonLoop, harness.Limit, runtime.Version(), map[string]run{byEncoded: loopByEncoded(json.Unmarshal)}},
		{sonicLoop, harness.Limit, harness.Version("github.com/bytedance/sonic"), map[string]run{byEncoded: loopByEncoded(sonic.Unmarshal)}},
	}
}

func question() harness.Question {
	rows := contenders()
	q := harness.Question{
		Name:   "stream_operators",
		Title:  "A filter, a window and an aggregate",
		Unit:   harness.NsPerOp,
		Better: harness.Lower,
		Cases:  []string{byCount, byDevices, byEncoded},
		About: "Micro. Events pass a filter on their value, which a half of them passes at random, a window, and the mean of its values. " +
			"In the second case each device has windows of its own, by the time in the events. In the third case the events are EdgeX events of 700 bytes in JSON: ferry runs the steps of a configuration on the encoded bytes, and the loops decode each event to a struct. An operation is one event of a run of 65536; its figures contain the start and the end of the run.",
		Figures: []string{harness.AllocsPerOp, harness.BytesPerOp},
		Checks:  []harness.Check{{Name: "all contenders pass on the same results", Run: func() error { return checkAgree(rows) }}},
		Goals: []harness.Goal{
			harness.AtMost(1.5, "one window: time of ferry, loop = 1", ratio(ferryRow, loop, byCount)),
			harness.AtMost(1.5, "each device: time of ferry, loop = 1", ratio(ferryRow, loop, byDevices)),
			harness.AtMost(1.5, "encoded events: time of ferry from YAML, loop with encoding/json = 1", ratio(yamlRow, jsonLoop, byEncoded)),
			harness.AtMost(1.5, "encoded events: time of ferry from YAML, loop with sonic = 1", ratio(yamlRow, sonicLoop, byEncoded)),
			harness.AtLeast(5, "encoded events: times faster than benthos", ratio(benthos, yamlRow, byEncoded)),
			harness.AtLeast(5, "times faster than rxgo", ratio(rxgoRow, ferryRow, byCount)),
			harness.AtLeast(5, "times faster than benthos", ratio(benthos, ferryRow, byCount)),
		},
		Notes: []string{
			"rxgo has no windows by event time, and those of benthos end by the clock of the system: rxgo takes part in the first case only. In the third one a Go function makes the windows of benthos.",
			"rxgo runs with channels of 1024 items instead of unbuffered ones. benthos gets batches of 1000 values that need no parsing, and a Go function makes its means.",
		},
	}
	for _, c := range rows {
		q.Contenders = append(q.Contenders, harness.Contender{
			Name: c.name, Kind: c.kind, Version: c.version,
			Measure: c.measure,
		})
	}
	return q
}

func ratio(of, to, name string) func(*harness.Result) float64 {
	return func(r *harness.Result) float64 { return r.Ratio(of, to, name, harness.NsPerOp) }
}

// measure times runs over all events. The figures are those of one event.
func (c contender) measure(name string, budget time.Duration) (harness.Figures, error) {
	chain := c.by[name]
	if chain == nil {
		return nil, nil
	}
	all := events()
	var failed error
	figures := harness.Time(func(n int) {
		for range n {
			if _, err := chain(all); err != nil {
				failed = err
			}
		}
	}, budget)
	for name := range figures {
		figures[name] /= float64(len(all))
	}
	return figures, failed
}

// checkAgree compares the results of all contenders with those of the loop. The order of devices may differ.
func checkAgree(rows []contender) error {
	all := events()
	want := map[string][]result{}
	for _, row := range rows {
		if row.kind != harness.Limit {
			continue
		}
		for name, chain := range row.by {
			want[name], _ = chain(all) // an error makes the results differ
			sortResults(want[name])
		}
	}
	if len(want[byCount]) < 300 || len(want[byDevices]) < 600 {
		return fmt.Errorf("the loop has %d and %d results, want more", len(want[byCount]), len(want[byDevices]))
	}
	for _, c := range rows {
		for name, chain := range c.by {
			got, err := chain(all)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, name, err)
			}
			if sortResults(got); !slices.Equal(got, want[name]) {
				return fmt.Errorf("%s, %s: %d results that are not the %d of the loop", c.name, name, len(got), len(want[name]))
			}
		}
	}
	return nil
}

// sortResults sorts by device. The results of one keep their order.
func sortResults(all []result) {
	slices.SortStableFunc(all, func(a, b result) int { return cmp.Compare(a.device, b.device) })
}
