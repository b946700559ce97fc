package http1

import (
	"fmt"

	"example.com/ferry/protocol/httprule"
)

// Pair is the name and value of a field to write.
type Pair struct {
	// Name is the field's name.
	Name string `yaml:"name" schema:"required"`

	// Value is the field's value.
	Value string `yaml:"value"`
}

// Edits are compiled changes to the fields of a message. Several goroutines may use the same Edits. Nil Edits change nothing.
type Edits struct {
	drop         [][]byte
	dropLengths  uint64 // bit n: drop contains a name of n bytes; bit 63: a name of 63 or more bytes
	written      []Pair
	writtenLines []byte // encoded
}

// NewEdits compiles edits and checks the names and values. remove removes all fields with a name. set replaces all fields with
// its name by one field. add adds a field. Host, framing fields and fields that are meant for one connection cannot be edited:
// RequestEdit and ResponseEdit write those fields.
func NewEdits(set, add []Pair, remove []string) (*Edits, error) {
	e := &Edits{}
	for _, name := range remove {
		if err := e.remove(name); err != nil {
			return nil, err
		}
	}
	for _, p := range set {
		if err := e.remove(p.Name); err != nil {
			return nil, err
		}
	}
	for _, list := range [][]Pair{set, add} {
		for _, p := range list {
			if err := e.write(p); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

func (e *Edits) remove(name string) error {
	if err := editable(name); err != nil {
		return err
	}
	e.drop = append(e.drop, []byte(name))
	e.dropLengths |= 1 << min(len(name), 63)
	return nil
}

func (e *Edits) write(p Pair) error {
	if err := editable(p.Name); err != nil {
		return err
	}
	if httprule.PastText([]byte(p.Value), 0) != len(p.Value) {
		return fmt.Errorf("http1: value %q of field %s has a control character: take it out", p.Value, p.Name)
	}
	e.written = append(e.written, p)
	e.writtenLines = appendField(e.writtenLines, p.Name, p.Value)
	return nil
}

// editable returns an error if a route may not edit the field with that name.
func editable(name string) error {
	b := []byte(name)
	if len(b) == 0 || httprule.Past(b, 0, httprule.TokenChar) != len(b) {
		return fmt.Errorf("http1: field name %q: use letters, digits and hyphens", name)
	}
	if (httprule.HopByHop | httprule.Framing | httprule.SetOf(httprule.Host, httprule.Expect, httprule.Trailer)).Has(httprule.FieldID(b)) {
		return fmt.Errorf("http1: field %s belongs to the proxy: it cannot be set, added or removed by a route", name)
	}
	return nil
}

// Removes reports whether the edits remove the fields with that name, or with one that is the same variable for some servers: X_User beside X-User.
func (e *Edits) Removes(name []byte) bool {
	if e == nil || e.dropLengths>>min(len(name), 63)&1 == 0 {
		return false
	}
	for _, d := range e.drop {
		if httprule.SameVariable(name, d) {
			return true
		}
	}
	return false
}

// Written returns the fields that are set or added, in order. The caller must not change the slice.
func (e *Edits) Written() []Pair {
	if e == nil {
		return nil
	}
	return e.written
}

func appendField(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}
