package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"cel.dev/cel-go/cel"
	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
	fxcbor "github.com/fxamacker/cbor/v2"

	"example.com/ferry/bench/internal/atree"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
)

// finder finds the rules that hold for a message.
type finder interface {
	// find appends the numbers of the rules that hold to dst.
	find(doc []byte, dst []int) []int
}

// changer is a finder with rules that come and go.
type changer interface {
	change(r rule)
}

// micro is a row that is measured in this process.
type micro struct {
	name, version string
	kind          harness.Kind
	most          int // rules
	open          func(rules []rule) (finder, error)
}

const thisCommit = "this commit"

var micros = []micro{
	{ferryRow, thisCommit, harness.Ferry, 10_000, openFerry},
	{singleRow, thisCommit, harness.Peer, 10_000, openSingle},
	{"expr for each rule, micro", "expr " + harness.Version("github.com/expr-lang/expr") + ", fxamacker " + harness.Version("github.com/fxamacker/cbor/v2"), harness.Peer, 10_000, openExpr},
	{"CEL for each rule, micro", "cel-go " + harness.Version("cel.dev/cel-go") + ", fxamacker " + harness.Version("github.com/fxamacker/cbor/v2"), harness.Peer, 1000, openCEL},
}

type ferryFinder struct {
	index   *field.Index
	matcher *format.IndexMatcher
}

func openFerry(rules []rule) (finder, error) {
	f := &ferryFinder{index: field.NewIndex()}
	for _, r := range rules {
		p, err := field.ParsePredicate(r.usual())
		if err != nil {
			return nil, err
		}
		f.index.Add(p)
	}
	f.matcher = format.NewIndexMatcher(cbor.Format{}, f.index)
	return f, nil
}

func (f *ferryFinder) find(doc []byte, dst []int) []int {
	dst, _, _ = f.matcher.Match(doc, dst)
	return dst
}

func (f *ferryFinder) change(r rule) {
	f.index.Remove(f.index.Add(field.MustParsePredicate(r.usual())))
}

// singleFinder evaluates one predicate after the other, as nodes did before.
type singleFinder []*format.Matcher

func openSingle(rules []rule) (finder, error) {
	var f singleFinder
	for _, r := range rules {
		p, err := field.ParsePredicate(r.usual())
		if err != nil {
			return nil, err
		}
		f = append(f, format.NewMatcher(cbor.Format{}, p))
	}
	return f, nil
}

func (f singleFinder) find(doc []byte, dst []int) []int {
	for i, m := range f {
		if ok, _, err := m.Match(doc); ok && err == nil {
			dst = append(dst, i)
		}
	}
	return dst
}

type exprFinder struct {
	programs []*vm.Program
	machine  vm.VM
	event    event
}

func openExpr(rules []rule) (finder, error) {
	f := &exprFinder{}
	for _, r := range rules {
		p, err := expr.Compile(r.usual(), expr.Env(&event{}), expr.AsBool())
		if err != nil {
			return nil, err
		}
		f.programs = append(f.programs, p)
	}
	return f, nil
}

func (f *exprFinder) find(doc []byte, dst []int) []int {
	if fxcbor.Unmarshal(doc, &f.event) != nil {
		return dst
	}
	for i, p := range f.programs {
		if out, err := f.machine.Run(p, &f.event); err == nil && out == true {
			dst = append(dst, i)
		}
	}
	return dst
}

type celFinder struct {
	programs []cel.Program
	event    event
	fields   map[string]any
}

func openCEL(rules []rule) (finder, error) {
	env, err := cel.NewEnv(
		cel.Variable("device", cel.StringType), cel.Variable("site", cel.StringType), cel.Variable("status", cel.StringType), cel.Variable("mode", cel.StringType),
		cel.Variable("line", cel.IntType), cel.Variable("value", cel.IntType), cel.Variable("flow", cel.IntType))
	if err != nil {
		return nil, err
	}
	f := &celFinder{fields: map[string]any{}}
	for _, r := range rules {
		ast, issues := env.Compile(r.usual())
		if issues.Err() != nil {
			return nil, issues.Err()
		}
		p, err := env.Program(ast)
		if err != nil {
			return nil, err
		}
		f.programs = append(f.programs, p)
	}
	return f, nil
}

func (f *celFinder) find(doc []byte, dst []int) []int {
	e := &f.event
	if fxcbor.Unmarshal(doc, e) != nil {
		return dst
	}
	f.fields["device"], f.fields["site"], f.fields["status"], f.fields["mode"] = e.Device, e.Site, e.Status, e.Mode
	f.fields["line"], f.fields["value"], f.fields["flow"] = e.Line, e.Value, e.Flow
	for i, p := range f.programs {
		if out, _, err := p.Eval(f.fields); err == nil && out.Value() == true {
			dst = append(dst, i)
		}
	}
	return dst
}

func (m *micro) measure(s setup, budget time.Duration) (harness.Figures, error) {
	if s.n > m.most {
		return nil, nil
	}
	rules, docs := s.rules(), encode(messages())
	before := heap()
	f, err := m.open(rules)
	if err != nil {
		return nil, err
	}
	used := heap() - before
	found, runs := 0, 0
	dst := make([]int, 0, s.n)
	figures := harness.Time(func(n int) {
		for i := range n {
			found += len(f.find(docs[i&(len(docs)-1)], dst))
		}
		runs += n
	}, budget)
	if s.n >= 1000 { // the heap of fewer is lost in that of the rest
		figures[perRule] = float64(used) / float64(s.n)
	}
	figures[delivered] = float64(found) / float64(runs)
	if c, ok := f.(changer); ok {
		figures[change] = harness.Time(func(n int) {
			for i := range n {
				c.change(rules[i%s.n])
			}
		}, budget/2)[harness.NsPerOp] / 1000
	}
	runtime.KeepAlive(f)
	return figures, nil
}

// heap returns the bytes of the heap that are in use, after a collection.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func measureATree(s setup, budget time.Duration) (harness.Figures, error) {
	ns, found, err := runATree(s, messages(), budget)
	if err != nil {
		return nil, err
	}
	sum := 0
	for _, ids := range found {
		sum += len(ids)
	}
	return harness.Figures{harness.NsPerOp: ns, delivered: float64(sum) / float64(len(found))}, nil
}

// runATree returns the time for a message, and the rules that hold for each message.
func runATree(s setup, events []event, budget time.Duration) (ns float64, found [][]int, err error) {
	in := atree.Input{Texts: []string{"device", "site", "status", "mode"}, Integers: []string{"line", "value", "flow"}}
	for _, r := range s.rules() {
		in.Rules = append(in.Rules, r.atree())
	}
	for i := range events {
		e := &events[i]
		in.Events = append(in.Events, atree.Event{Texts: []string{e.Device, e.Site, e.Status, e.Mode}, Integers: []int64{e.Line, e.Value, e.Flow}})
	}
	return atree.Run(in, budget)
}

// checkAgree compares what all rows find.
func checkAgree(withATree bool) error {
	events := messages()[:256]
	docs := encode(events)
	for _, k := range kinds {
		s := setup{k, 1000}
		want, total := make([][]int, len(docs)), 0
		single, err := openSingle(s.rules())
		if err != nil {
			return err
		}
		for i, doc := range docs {
			want[i] = single.find(doc, nil)
			total += len(want[i])
		}
		if total == 0 {
			return fmt.Errorf("%s: no rule holds", s)
		}
		for _, m := range micros {
			f, err := m.open(s.rules())
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			for i, doc := range docs {
				got := f.find(doc, nil)
				if slices.Sort(got); !slices.Equal(got, want[i]) {
					return fmt.Errorf("%s, %s, message %d: found %v, want %v", m.name, s, i, got, want[i])
				}
			}
		}
		if !withATree {
			continue
		}
		_, found, err := runATree(s, events, time.Microsecond)
		if err != nil {
			return err
		}
		for i := range docs {
			if slices.Sort(found[i]); !slices.Equal(found[i], want[i]) {
				return fmt.Errorf("A-Tree, %s, message %d: found %v, want %v", s, i, found[i], want[i])
			}
		}
	}
	return nil
}
