package cli

import (
	"fmt"
)

type streamRmDurableCmd struct {
	streamFlags
	Name    string `arg:"" help:"The stream."`
	Durable string `arg:"" help:"The durable."`
}

// Help returns the part of ferry stream rm-durable --help that is not in the grammar.
func (*streamRmDurableCmd) Help() string {
	return `The stream keeps its messages. A later durable of that name begins at the place that its first client names. A durable that has members is not removed: stop the functions and clients that use it first.

Example:

    ferry stream rm-durable orders billing`
}

// Run removes the durable.
func (c *streamRmDurableCmd) Run(e *env) error {
	ctx, stop := interruptible()
	defer stop()
	var result struct{}
	if err := c.post(ctx, streamPath(c.Name, "durables", c.Durable, "delete"), &result); err != nil {
		return err
	}
	if c.Output == "json" {
		return printJSON(e, result)
	}
	return e.print(fmt.Appendf(nil, "%s: durable %s removed\n", c.Name, c.Durable))
}
