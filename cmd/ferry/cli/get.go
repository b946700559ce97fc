package cli

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"example.com/ferry/field"
	"example.com/ferry/internal/transcode"
)

type getCmd struct {
	Type   string  `short:"t" placeholder:"TYPE" enum:",${types}" default:"" help:"The type of the message: ${typeList}. By default ferry guesses."`
	As     string  `placeholder:"T" enum:",${casts}" default:"" help:"Read the value as ${castList}; for y3 and protobuf, whose bytes have no types."`
	Output string  `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text (the bare value) or json."`
	Path   pathArg `arg:"" help:"Names and indices joined by dots, such as readings.0.value; keys or field numbers for y3 and protobuf: 0x10.0x11, 5.1."`
	input
}

// Help returns the part of ferry get --help that is not in the grammar.
func (*getCmd) Help() string {
	return `Bytes are printed as hex, maps and lists as JSON. A schema gives names and types to the fields of y3 and protobuf.

Examples:

    ferry get readings.0.value event.cbor
    ferry get -t y3 --as float32 0x01.0x10.0x11 <noise.y3
    ferry get --schema noise.json noise.level noise.y3`
}

// Run prints the field.
func (c *getCmd) Run(e *env) error {
	m, err := c.message(e, c.Type)
	if err != nil {
		return err
	}
	p, as, err := m.path(c.Path.Path)
	if err != nil {
		return err
	}
	span, err := m.format.Lookup(m.data, p)
	if err != nil {
		return m.lookupError(err, c.Path.Path, c.name())
	}
	if c.As != "" {
		as, _ = field.ParseType(c.As) // the command line let only names through
	}
	text, err := c.render(m, span, as)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Path.Path, err)
	}
	return e.print(append(text, '\n'))
}

// render returns the value in the requested form. Text output is JSON without the quotes and escapes of a string.
func (c *getCmd) render(m *message, span field.Span, as field.Type) ([]byte, error) {
	if as != field.AnyType || span.Kind == field.Float {
		v, err := m.format.Value(m.data, span, as)
		if err != nil {
			return nil, err
		}
		// JSON has no NaN, so -o json refuses it below.
		if as != field.AnyType || c.Output == "text" && v.Float-v.Float != 0 {
			return c.scalar(v, as)
		}
	}
	text, err := transcode.JSONAs(nil, m.data, m.format, span, m.field(c.Path.Path))
	if err != nil || c.Output == "json" || text[0] != '"' {
		return text, err
	}
	var bare string
	err = json.Unmarshal(text, &bare)
	return []byte(bare), err
}

// scalar returns v as text. As JSON, all but numbers, bool and null are strings.
func (c *getCmd) scalar(v field.Value, as field.Type) ([]byte, error) {
	text := textScalar(v, as)
	isText := v.Kind == field.Text || v.Kind == field.Bytes
	if c.Output == "text" || !isText && json.Valid(text) {
		return text, nil
	}
	return json.Marshal(string(text))
}

func textScalar(v field.Value, as field.Type) []byte {
	switch v.Kind {
	case field.Null:
		return []byte("null")
	case field.Bool:
		return strconv.AppendBool(nil, v.Bool)
	case field.Int:
		if v.Unsigned {
			return strconv.AppendUint(nil, uint64(v.Int), 10)
		}
		return strconv.AppendInt(nil, v.Int, 10)
	case field.Float:
		if as == field.Float32 {
			return strconv.AppendFloat(nil, v.Float, 'g', -1, 32)
		}
		return strconv.AppendFloat(nil, v.Float, 'g', -1, 64)
	case field.Text:
		return v.Bytes
	}
	return hex.AppendEncode(nil, v.Bytes)
}

// pathArg is a path on the command line.
type pathArg struct{ field.Path }

// UnmarshalText parses a path.
func (p *pathArg) UnmarshalText(text []byte) (err error) {
	p.Path, err = field.Parse(string(text))
	return err
}

// namesHint returns advice for a path with names into a numbered format without a schema; else "".
func (m *message) namesHint(p field.Path) string {
	named := slices.ContainsFunc(p.Steps(), func(s field.Step) bool { return s.Key < 0 && s.Index < 0 })
	format := m.format.Descriptor()
	if !named || !format.Numbered || m.shape != nil {
		return ""
	}
	return ", which has numbers for names: write one, such as " + format.SampleKey + ", or give the names with --schema"
}

// lookupError adds the path and the input to an error of Lookup.
func (m *message) lookupError(err error, p field.Path, in string) error {
	if errors.Is(err, field.ErrNotFound) {
		return fmt.Errorf("%w: %q in %s, a %s message%s", err, p, in, m.format.Name(), m.namesHint(p))
	}
	return fmt.Errorf("%s: %w", in, err)
}
