package pipeline

import (
	"bytes"
	"fmt"
	"regexp"

	"example.com/ferry/edgex"
)

// Filter says which names pass. The zero value lets all pass.
type Filter struct {
	// Values are regular expressions, as in EdgeX: a name that any of them matches, or matches a part of, passes. pump
	// matches pump-12 too; ^pump$ does not.
	Values []string `yaml:"values,omitempty"`

	// Out has the names pass that no value matches.
	Out bool `yaml:"out,omitempty"`
}

// names is a Filter compiled.
type names struct {
	parts    [][]byte // values that mean themselves
	patterns []*regexp.Regexp
	out      bool
}

func (f Filter) compile() (*names, error) {
	n := &names{out: f.Out}
	for _, v := range f.Values {
		if regexp.QuoteMeta(v) == v {
			n.parts = append(n.parts, []byte(v))
			continue
		}
		p, err := regexp.Compile(v)
		if err != nil {
			return nil, fmt.Errorf("pipeline: filter value %q is no regular expression: %w", v, err)
		}
		n.patterns = append(n.patterns, p)
	}
	return n, nil
}

func (n *names) pass(name []byte) bool {
	if n.all() {
		return true
	}
	for _, p := range n.parts {
		if bytes.Contains(name, p) {
			return !n.out
		}
	}
	for _, p := range n.patterns {
		if p.Match(name) {
			return !n.out
		}
	}
	return n.out
}

// all reports whether any name passes.
func (n *names) all() bool { return len(n.parts)+len(n.patterns) == 0 }

// FilterByProfileName lets events pass whose profile f lets pass. It reads the event up to that name.
func FilterByProfileName(f Filter) (Step, error) { return filter(f, (*edgex.View).ProfileName) }

// FilterByDeviceName lets events pass whose device f lets pass. It reads the event up to that name.
func FilterByDeviceName(f Filter) (Step, error) { return filter(f, (*edgex.View).DeviceName) }

// FilterBySourceName lets events pass whose source f lets pass. It reads the event up to that name.
func FilterBySourceName(f Filter) (Step, error) { return filter(f, (*edgex.View).SourceName) }

func filter(f Filter, name func(*edgex.View) ([]byte, error)) (Step, error) {
	n, err := f.compile()
	if err != nil {
		return nil, err
	}
	return StepFunc(func(m *Message) (bool, error) {
		v, err := m.Event()
		if err != nil || n.all() {
			return err == nil, err
		}
		text, err := name(v)
		if err != nil {
			return false, err
		}
		return n.pass(text), nil
	}), nil
}

// FilterByResourceName takes the readings out of an event whose resource f does not let pass; an event that has none left
// ends. Readings are passed over and cut out as they are encoded. That costs a look at each of their fields in CBOR, and
// at each byte in JSON; a message that loses some is copied without them.
func FilterByResourceName(f Filter) (Step, error) {
	n, err := f.compile()
	if err != nil {
		return nil, err
	}
	return StepFunc(func(m *Message) (bool, error) {
		v, err := m.Event()
		if err != nil || n.all() {
			return err == nil, err
		}
		kept, err := v.KeepReadings(n.pass)
		return kept > 0, err
	}), nil
}
