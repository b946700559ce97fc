package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// event is a message: a measurement of a device.
type event struct {
	ID     string `cbor:"id" expr:"id"`
	Device string `cbor:"device" expr:"device"`
	Site   string `cbor:"site" expr:"site"`
	Line   int64  `cbor:"line" expr:"line"`
	Status string `cbor:"status" expr:"status"`
	Mode   string `cbor:"mode" expr:"mode"`
	Origin int64  `cbor:"origin" expr:"origin"`
	Value  int64  `cbor:"value" expr:"value"`
	Flow   int64  `cbor:"flow" expr:"flow"`
}

const (
	devices = 10_000
	values  = 1_000_000
)

// messages are drawn at random, always the same. Their number is a power of two.
func messages() (all []event) {
	g := rand.New(rand.NewPCG(15, 1))
	for i := range 4096 {
		e := event{
			ID: fmt.Sprintf("d5471d59-2810-419a-8744-%012d", i), Device: device(g.IntN(devices)), Site: fmt.Sprintf("s%d", g.IntN(100)), Line: g.Int64N(10),
			Status: "ok", Mode: "auto", Origin: 1600000000000000000 + int64(i), Value: g.Int64N(values), Flow: g.Int64N(100),
		}
		if g.IntN(100) == 0 {
			e.Status = "alarm"
		}
		if g.IntN(100) == 0 {
			e.Mode = "manual"
		}
		all = append(all, e)
	}
	return all
}

func device(i int) string { return fmt.Sprintf("d%d", i) }

func encode(all []event) (docs [][]byte) {
	for i := range all {
		doc, err := cbor.Marshal(&all[i])
		if err != nil {
			panic(err) // a constant of this program cannot be encoded
		}
		docs = append(docs, doc)
	}
	return docs
}

// rule is a predicate: tests that are joined by &&.
type rule []test

// test compares a field with a text or with an integer.
type test struct {
	field, operator, text string
	number                int
	isNumber              bool
}

func text(field, operator, v string) test { return test{field: field, operator: operator, text: v} }
func number(field, operator string, v int) test {
	return test{field: field, operator: operator, number: v, isNumber: true}
}

// write writes the rule in a language.
func (r rule) write(and, equal, unequal string) string {
	parts := make([]string, len(r))
	for i, t := range r {
		operator := map[string]string{"==": equal, "!=": unequal}[t.operator]
		if operator == "" {
			operator = t.operator
		}
		literal := strconv.Itoa(t.number)
		if !t.isNumber {
			literal = `"` + t.text + `"`
		}
		parts[i] = t.field + " " + operator + " " + literal
	}
	return strings.Join(parts, and)
}

// usual is the rule in the language of ferry, of expr and of CEL.
func (r rule) usual() string { return r.write(" && ", "==", "!=") }

// atree is the rule in the language of A-Tree.
func (r rule) atree() string { return r.write(" and ", "=", "<>") }

// kind makes the rules of one sort. The rule with number i, up to 10,000, holds for share of the messages: 0.0001 or 0.01.
type kind struct {
	name  string
	share string
	rule  func(i int) rule
}

const (
	seldom = "0.01 %"
	often  = "1 %"
)

func equality(i int) rule { return rule{text("device", "==", device(i))} }

func ranges(width int) func(int) rule {
	return func(i int) rule {
		from := i * 100 * (values - width) / values
		return rule{number("value", ">=", from), number("value", "<", from+width)}
	}
}

// conjunction has no test that few rules share.
func conjunction(i int) rule {
	return rule{text("site", "==", fmt.Sprintf("s%d", i%100)), number("line", "==", i/100%10), number("value", ">", 900_000+i/1000)}
}

func wideConjunction(i int) rule {
	return rule{number("line", "==", i%10), number("value", ">", 900_000+i/10), number("flow", ">", -1)}
}

// unindexed are rules of inequalities, of which each one holds for nearly all values. Of each two, one begins with a test that all of
// them have.
func unindexed(i int) rule {
	status, mode, own := text("status", "!=", "ok"), text("mode", "!=", "auto"), number("value", "!=", i)
	if i/10%2 == 0 {
		return rule{status, mode, own}
	}
	return rule{own, mode, status}
}

func wideUnindexed(i int) rule {
	return rule{number("value", "!=", i), text("status", "!=", "ok")}
}

func mix(ranges, conjunction, unindexed func(int) rule) func(int) rule {
	return func(i int) rule {
		switch i % 10 {
		case 0, 1, 2, 3:
			return equality(i)
		case 4, 5:
			return ranges(i)
		case 6, 7, 8:
			return conjunction(i)
		}
		return unindexed(i)
	}
}

var kinds = []kind{
	{"equality", seldom, equality},
	{"ranges", seldom, ranges(100)},
	{"conjunctions of three", seldom, conjunction},
	{"mix, 10 % without index", seldom, mix(ranges(100), conjunction, unindexed)},
	{"ranges", often, ranges(10_000)},
	{"conjunctions of three", often, wideConjunction},
	{"mix, 10 % without index", often, mix(ranges(10_000), wideConjunction, wideUnindexed)},
}

var counts = []int{1, 10, 100, 1000, 10_000}

// setup is one case: n rules of a kind.
type setup struct {
	kind
	n int
}

func (s setup) String() string {
	if s.n == 1 {
		return fmt.Sprintf("%s, 1 rule, %s", s.name, s.share)
	}
	return fmt.Sprintf("%s, %d rules, %s", s.name, s.n, s.share)
}

// rules returns n of the 10,000 rules, spread over all of them.
func (s setup) rules() []rule {
	all := make([]rule, s.n)
	for i := range all {
		all[i] = s.rule(i * 7919 % devices)
	}
	return all
}

// setups are the cases with these numbers of rules. Rules that hold often are measured with the most only.
func setups(counts []int) (all []setup) {
	for _, k := range kinds {
		for _, n := range counts {
			if k.share == seldom || n == counts[len(counts)-1] {
				all = append(all, setup{k, n})
			}
		}
	}
	return all
}
