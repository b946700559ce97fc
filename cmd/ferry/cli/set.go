package cli

import (
	"errors"
	"fmt"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

type setCmd struct {
	Type   string     `short:"t" placeholder:"TYPE" enum:",${types}" default:"" help:"The type of the message: ${typeList}. By default ferry guesses."`
	As     string     `placeholder:"T" enum:",${casts}" default:"" help:"VALUE is ${castList}; for y3 and protobuf, whose bytes have no types."`
	Assign assignment `arg:"" name:"path=value" help:"The field and its new value: bytes as hex, other values as text."`
	input
}

// Help returns the part of ferry set --help that is not in the grammar.
func (*setCmd) Help() string {
	return `VALUE gets the type of the old value: a number stays a number, text stays text. The changed message goes to standard output. All other bytes of it stay the same.

Examples:

    ferry set readings.0.value=31 <old.cbor >new.cbor
    ferry set -t y3 --as int32 0x01.0x10=-7 noise.y3 >changed.y3
    ferry set --schema noise.json noise.level=2.5 noise.y3 >changed.y3`
}

// Run writes the message with the field changed.
func (c *setCmd) Run(e *env) error {
	m, err := c.message(e, c.Type)
	if err != nil {
		return err
	}
	p, as, err := m.path(c.Assign.path)
	if err != nil {
		return err
	}
	span, err := m.format.Lookup(m.data, p)
	if err != nil {
		return m.lookupError(err, c.Assign.path, c.name())
	}
	patcher, ok := m.format.(format.Patcher)
	if !ok {
		return fmt.Errorf("%s: a %s message can be read but not changed", c.name(), m.format.Name())
	}
	if c.As != "" {
		as, _ = field.ParseType(c.As) // the command line let only names through
	}
	v, err := parseValue(c.Assign.value, span.Kind, as)
	if caster, ok := m.format.(format.Caster); ok && err == nil && as != field.AnyType {
		v, err = caster.Cast(v, as)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.Assign.path, err)
	}
	out, err := patcher.Patch(nil, m.data, p, v)
	var unfit *format.TypeError
	switch {
	case errors.As(err, &unfit):
		return fmt.Errorf("%s: %q cannot replace the %v there: %w", c.Assign.path, c.Assign.value, span.Kind, err)
	case err != nil:
		return fmt.Errorf("%s: %w", c.Assign.path, err)
	}
	return e.print(out)
}

// assignment is PATH=VALUE, split at the first =.
type assignment struct {
	path  field.Path
	value string
}

// UnmarshalText parses PATH=VALUE.
func (a *assignment) UnmarshalText(text []byte) (err error) {
	path, value, ok := strings.Cut(string(text), "=")
	if !ok {
		return fmt.Errorf("%q has no =: want PATH=VALUE", text)
	}
	a.value = value
	a.path, err = field.Parse(path)
	return err
}
