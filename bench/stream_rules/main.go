// Stream_rules measures how a node finds, of many predicates on one tag, those that hold for a message.
package main

import (
	"fmt"
	"os"
	"time"

	"example.com/ferry/bench/internal/atree"
	"example.com/ferry/bench/internal/harness"
)

func main() {
	natsMain()
	if err := atree.Program.Install(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	harness.Main(question(setups(counts), atree.Program.Path() != ""))
}

// The names of the rows that goals refer to, and of figures.
const (
	ferryRow  = "ferry, micro"
	singleRow = "one by one (ferry before), micro"
	nodeRow   = "ferry, CPU of the node"

	perRule   = "B a rule"
	change    = "us add + remove"
	delivered = "matches/message"
)

// question returns the question with these cases, with a row of A-Tree or without.
func question(cases []setup, withATree bool) harness.Question {
	e := new(experiment)
	q := harness.Question{
		Name:   "stream_rules",
		Title:  "Many predicates on one tag",
		Unit:   harness.NsPerOp,
		Better: harness.Lower,
		About: "Distinct predicates over messages of about 150 bytes in CBOR: equality on a field with 10,000 values; ranges; conjunctions of three tests of which none is rare; and a mix, " +
			"of which a tenth has inequalities only, half of that with another first test each. Each rule holds for 0.01 % or for 1 % of the messages. " +
			"Rows labelled micro find the rules that hold for one message, in one process, without validation and delivery. " +
			"The rows of a node have its CPU time for a message: `ferry run` as it is shipped, with full validation, over TCP, with one subscription for each rule on 256 a connection; " +
			"what is found is delivered.",
		Figures: []string{delivered, perRule, change, harness.AllocsPerOp},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "all micro rows find the same rules for the same messages", Run: func() error { return checkAgree(withATree) }},
			{Name: "the nodes deliver as many messages as rules hold; again in each measurement", Run: e.check},
		},
		Notes: []string{
			"Equalities on one field hold for one value each, so there is no case of 1 % for them. In the mix of 1 % they hold for 0.01 %.",
			"expr and CEL decode a message once, to a struct, with fxamacker's library, and then run each rule. CEL takes part up to 1,000 rules: 10,000 take it seconds to compile.",
			"A-Tree gets messages that are decoded and prepared before the time starts.",
			"NATS cannot filter on content: its publisher puts the device into the subject, and each subscriber subscribes to one subject.",
			"us add + remove: in micro rows, of one rule beside all others. In the node, SUB and UNSUB of 1,000 rules in one go, from the first byte written to the last response; NATS likewise.",
			"B a rule: heap in the process after a collection, the predicate itself included.",
		},
	}
	ratio := func(a, b string, s setup) func(*harness.Result) float64 {
		return func(r *harness.Result) float64 { return r.Ratio(a, b, s.String(), harness.NsPerOp) }
	}
	figure := func(row string, s setup, name string) func(*harness.Result) float64 {
		return func(r *harness.Result) float64 { return r.Stat(row, s.String(), name).Median }
	}
	for _, s := range cases {
		q.Cases = append(q.Cases, s.String())
		if s.share != seldom {
			continue
		}
		switch s.n {
		case 1:
			q.Goals = append(q.Goals, harness.AtMost(1, s.String()+": times one by one", ratio(ferryRow, singleRow, s)))
		case 100:
			q.Goals = append(q.Goals, harness.AtLeast(10, s.String()+": times faster than one by one", ratio(singleRow, ferryRow, s)))
		case 10_000:
			limit := 10_000.0
			if s.name == "equality" {
				limit = 2000
			}
			q.Goals = append(q.Goals,
				harness.AtMost(limit, s.String()+": the node's CPU ns for a message", figure(nodeRow, s, harness.NsPerOp)),
				harness.AtMost(20, s.String()+": us for SUB and UNSUB in the node", figure(nodeRow, s, change)))
		}
	}
	for _, c := range e.contenders(withATree) {
		q.Contenders = append(q.Contenders, harness.Contender{
			Name: c.name, Kind: c.kind, Version: c.version,
			Measure: func(name string, budget time.Duration) (harness.Figures, error) {
				for _, s := range cases {
					if s.String() == name {
						return c.measure(s, budget)
					}
				}
				return nil, fmt.Errorf("stream_rules: no case %q", name)
			},
		})
	}
	return q
}

// contender is a row. It returns nil Figures if it does not take part in a case.
type contender struct {
	name, version string
	kind          harness.Kind
	measure       func(s setup, budget time.Duration) (harness.Figures, error)
}

// experiment is the state that all measurements of a run share.
type experiment struct{ dir string }

func (e *experiment) contenders(withATree bool) (all []contender) {
	for _, m := range micros {
		all = append(all, contender{m.name, m.version, m.kind, m.measure})
	}
	if withATree {
		all = append(all, contender{"A-Tree, micro", "crate a-tree " + atree.Version, harness.Peer, measureATree})
	}
	return append(all,
		contender{nodeRow, "this commit", harness.Ferry, e.measureFerry},
		contender{"NATS, a subject for each value, CPU of the server", natsVersion, harness.Peer, e.measureNATS})
}
