package main

import (
	"fmt"

	"example.com/ferry/internal/transcode"
)

type convertCmd struct {
	From string `placeholder:"TYPE" enum:",${types}" default:"" help:"What the message is: ${typeList}; guessed if left out."`
	To   string `placeholder:"TYPE" enum:"${types}" required:"" help:"What to make of it: ${typeList}."`
	input
}

// Help is what ferry convert --help says on top of the model.
func (*convertCmd) Help() string {
	return `Keys keep their order, integers stay integers of any size, floats stay floats. Bytes become base64 text in JSON, which is noted. Y3 carries no types: as JSON it is a tree of hex keys and hex bytes, and such a tree goes back to Y3. BSON is neither read nor written, MessagePack only read.

Examples:

    ferry convert --from cbor --to json event.cbor
    ferry convert --from json --to cbor <event.json >event.cbor`
}

// Run writes the message in the other format.
func (c *convertCmd) Run(e *env) error {
	from, data, err := c.message(e, c.From)
	if err != nil {
		return err
	}
	out, notes, err := transcode.Message(nil, data, from, byName(e.formats, c.To))
	if err != nil {
		return fmt.Errorf("%s: %w", c.name(), err)
	}
	for _, n := range notes {
		e.note("%s: %s", c.name(), n)
	}
	if c.To == "json" && from.Name() != "json" {
		out = append(out, '\n')
	}
	return e.print(out)
}
