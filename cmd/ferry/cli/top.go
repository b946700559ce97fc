package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/ferry/cmd/ferry/top"
)

type topCmd struct {
	Interval time.Duration `default:"1s" placeholder:"TIME" help:"How often the view is updated. The default is 1s."`
	Output   string        `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text (the view) or json (the counters of this moment, once)."`
	adminArgument
}

// Help returns the part of ferry top --help that is not in the grammar.
func (*topCmd) Help() string {
	return `It shows the streams with their durables, the tags, the functions, and the routes and
endpoints of the proxy. Rates are averages over 5 s.

Keys: tab or the arrows turn to another table, up and down scroll, s sorts by the next
column, S reverses the order, / filters by text, q quits.

Examples:

    ferry top
    ferry top --admin-token-file admin-token https://edge-1:4195
    ferry top -o json | jq '.streams.streams[] | {name, records}'`
}

// minTopInterval keeps the view from loading the node that it shows.
const minTopInterval = 100 * time.Millisecond

// Run shows the view, or prints one sample.
func (c *topCmd) Run(e *env) error {
	if c.Interval < minTopInterval {
		return usagef("--interval: %v is too short: want at least %v", c.Interval, minTopInterval)
	}
	client, err := c.connect()
	if err != nil {
		return err
	}
	defer client.close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if c.Output == "json" {
		return c.print(ctx, e, client)
	}
	err = top.Run(ctx, top.Config{Get: client.part, Address: client.base.String(), Interval: c.Interval, Input: e.stdin, Output: e.stdout})
	if errors.Is(err, top.ErrNoTerminal) {
		return usagef("%w: -o json prints the counters once", err)
	}
	return err
}

func (c *topCmd) print(ctx context.Context, e *env, client *adminClient) error {
	sample, err := top.Take(ctx, client.part)
	if err != nil {
		return err
	}
	body, err := json.Marshal(sample)
	if err != nil {
		return err
	}
	return e.print(append(body, '\n'))
}

// part requests a part of the node.
func (c *adminClient) part(ctx context.Context, path string) ([]byte, error) {
	body, err := c.do(ctx, http.MethodGet, path)
	var refused *adminError
	if errors.As(err, &refused) && refused.status == http.StatusNotFound {
		return nil, top.ErrAbsent
	}
	return body, err
}
