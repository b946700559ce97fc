package cli

import (
	"fmt"

	"example.com/ferry"
	"example.com/ferry/internal/transcode"
)

type convertCmd struct {
	From string `placeholder:"TYPE" enum:",${types}" default:"" help:"What the message is: ${typeList}; guessed if left out."`
	To   string `placeholder:"TYPE" enum:"${types}" required:"" help:"What to make of it: ${typeList}."`
	input
}

// Help returns the part of ferry convert --help that is not in the grammar.
func (*convertCmd) Help() string {
	return `Keys keep their order, integers stay integers of any size, floats stay floats. What the other type has no word for is written in the nearest way and noted, or an error that names the field. Bytes become base64 text in JSON.

With --schema nothing is lost on the way there and back, not the width of a number either: keys and field numbers become names, bytes in JSON are read back as bytes, NaN and Infinity are text there. Protobuf needs a schema. Y3 without one is a tree of hex keys and hex bytes, and such a tree goes back to Y3.

Examples:

    ferry convert --from cbor --to json event.cbor
    ferry convert --schema noise.json --from y3 --to json noise.y3
    ferry convert --schema noise.json --from json --to y3 <noise.out >noise.y3`
}

// Run writes the message in the other format.
func (c *convertCmd) Run(e *env) error {
	m, err := c.message(e, c.From)
	if err != nil {
		return err
	}
	to := byName(withSchema(e.formats, m.shape), c.To)
	out, notes, err := transcode.MessageAs(nil, m.data, m.format, to, m.shape)
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
