package pipeline

import (
	"bytes"
	"fmt"
	"regexp"

	"example.com/ferry/edgex"
)

// Filter selects names. The zero value selects all.
type Filter struct {
	// Values are regular expressions, as in EdgeX. A name is selected if one of them matches any part of it: pump matches
	// pump-12, too; ^pump$ does not.
	Values []string `yaml:"values,omitempty"`

	// Out inverts the filter: it selects the names that no value matches.
	Out bool `yaml:"out,omitempty"`
}

// nameFilter is a compiled Filter.
type nameFilter struct {
	parts    [][]byte // values without special characters; a name must contain one of them
	patterns []*regexp.Regexp
	out      bool
}

func (f Filter) compile() (*nameFilter, error) {
	n := &nameFilter{out: f.Out}
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

func (n *nameFilter) selects(name []byte) bool {
	if n.selectsAll() {
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

// selectsAll reports whether the filter selects every name.
func (n *nameFilter) selectsAll() bool { return len(n.parts)+len(n.patterns) == 0 }

// FilterByProfileName discards events whose profile f does not select. It reads the event only up to the profile name.
func FilterByProfileName(f Filter) (Step, error) { return filter(f, (*edgex.View).ProfileName) }

// FilterByDeviceName discards events whose device f does not select. It reads the event only up to the device name.
func FilterByDeviceName(f Filter) (Step, error) { return filter(f, (*edgex.View).DeviceName) }

// FilterBySourceName discards events whose source f does not select. It reads the event only up to the source name.
func FilterBySourceName(f Filter) (Step, error) { return filter(f, (*edgex.View).SourceName) }

func filter(f Filter, name func(*edgex.View) ([]byte, error)) (Step, error) {
	n, err := f.compile()
	if err != nil {
		return nil, err
	}
	return StepFunc(func(m *Message) (bool, error) {
		v, err := m.Event()
		if err != nil || n.selectsAll() {
			return err == nil, err
		}
		text, err := name(v)
		if err != nil {
			return false, err
		}
		return n.selects(text), nil
	}), nil
}

// FilterByResourceName removes the readings whose resource f does not select. It discards an event if no reading remains. It
// does not decode readings: in CBOR it reads each of their fields, in JSON each byte. If it removes a reading, it copies the
// message.
func FilterByResourceName(f Filter) (Step, error) {
	n, err := f.compile()
	if err != nil {
		return nil, err
	}
	return StepFunc(func(m *Message) (bool, error) {
		v, err := m.Event()
		if err != nil || n.selectsAll() {
			return err == nil, err
		}
		kept, err := v.KeepReadings(n.selects)
		return kept > 0, err
	}), nil
}
