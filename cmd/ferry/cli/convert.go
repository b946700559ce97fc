package cli

import (
	"fmt"

	"example.com/ferry"
	"example.com/ferry/format"
	"example.com/ferry/internal/transcode"
)

type convertCmd struct {
	From string `placeholder:"TYPE" enum:",${types}" default:"" help:"The type of the message: ${typeList}. By default ferry guesses."`
	To   string `placeholder:"TYPE" enum:"${types}" required:"" help:"The type to convert it to: ${typeList}."`
	input
}

// Help returns the part of ferry convert --help that is not in the grammar.
func (*convertCmd) Help() string {
	return `Keys keep their order, integers of any size stay integers, floats stay floats. A value that the other type cannot represent is either converted to the nearest form, with a note on standard error, or refused with an error that names the field. Bytes become base64 text in JSON.

With --schema a round trip loses nothing, not even the width of a number: keys and field numbers become names, bytes in JSON are read back as bytes, and NaN and Infinity are text in JSON. Protobuf needs a schema, and its JSON is ProtoJSON: 64-bit integers as text, enums by name, maps as objects, names in lowerCamelCase, and the well-known types of a descriptor set. Y3 without a schema becomes a tree of hex keys and hex bytes, which converts back to Y3.

Examples:

    ferry convert --from cbor --to json event.cbor
    ferry convert --schema noise.json --from y3 --to json noise.y3
    ferry convert --schema noise.json --from json --to y3 <noise.out >noise.y3`
}

// translate returns the message in the format to.
func (c *convertCmd) translate(m *message, to format.Format) ([]byte, []string, error) {
	if m.shape == nil || !isProtoJSON(m.format, to) {
		return transcode.MessageAs(nil, m.data, m.format, to, m.shape)
	}
	p, err := c.protoJSON(m.shape)
	if err != nil {
		return nil, nil, err
	}
	return p.convert(m.data, m.format, to)
}

// Run writes the message in the other format.
func (c *convertCmd) Run(e *env) error {
	m, err := c.message(e, c.From)
	if err != nil {
		return err
	}
	to := byName(withSchema(e.formats, m.shape), c.To)
	out, notes, err := c.translate(m, to)
	if err != nil {
		return fmt.Errorf("%s: %w", c.name(), err)
	}
	for _, n := range notes {
		e.note("%s: %s", c.name(), n)
	}
	if to.Descriptor().Type == ferry.JSON && m.format.Descriptor().Type != ferry.JSON {
		out = append(out, '\n')
	}
	return e.print(out)
}
