package cli

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"example.com/ferry/internal/duration"
)

type streamResetDurableCmd struct {
	streamFlags
	Name    string `arg:"" help:"The stream."`
	Durable string `arg:"" help:"The durable."`
	From    string `arg:"" help:"Where it begins: first, a sequence number, a time such as 2026-11-22T10:00:00Z, or how long ago, such as 10m."`
}

// Help returns the part of ferry stream reset-durable --help that is not in the grammar.
func (*streamResetDurableCmd) Help() string {
	return `The members of the durable get the messages from there on, those too that were acknowledged before. It keeps its filter and its predicate. A durable that has members is not moved: stop the functions and clients that use it first.

Example:

    ferry stream reset-durable orders billing 10m`
}

// Run moves the durable.
func (c *streamResetDurableCmd) Run(e *env) error {
	now := time.Now()
	if _, err := parseFrom(c.From, now); err != nil {
		return usageError{errors.New(strings.TrimPrefix(err.Error(), "--from "))}
	}
	from := c.From
	if ago, err := duration.Parse(from); err == nil && ago > 0 {
		from = now.Add(-ago).UTC().Format(time.RFC3339Nano)
	}
	ctx, stop := interruptible()
	defer stop()
	var result struct{}
	if err := c.post(ctx, streamPath(c.Name, "durables", c.Durable, "reset")+"?"+url.Values{"from": {from}}.Encode(), &result); err != nil {
		return err
	}
	if c.Output == "json" {
		return printJSON(e, result)
	}
	return e.print(fmt.Appendf(nil, "%s: durable %s begins at %s\n", c.Name, c.Durable, c.From))
}
