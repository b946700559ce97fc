package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"example.com/ferry/node"
	"example.com/ferry/node/config"
)

type diffCmd struct {
	Config string `short:"c" required:"" placeholder:"FILE" help:"The configuration that the node would run."`
	Output string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json."`
	adminArgument
}

// Help returns the part of ferry diff --help that is not in the grammar.
func (*diffCmd) Help() string {
	return `It says what a reload of the file would do to the running node. The node compares: it puts in its own
values of ${...}, and changes nothing. + is added, - removed, ~ changed, and ! needs a restart: then a reload refuses
the file as a whole. What only binding an address or starting a program shows, such as a busy port, is not noticed.

Exit status: 0 nothing changes, 1 a reload changes something, 2 the file is not valid, a reload refuses it, or
the node does not respond.

Examples:

    ferry diff -c next.yaml
    ferry diff -c next.yaml --admin-token-file admin-token https://edge-1:4195`
}

// Run prints the differences.
func (c *diffCmd) Run(e *env) error {
	source, err := config.Read(c.Config)
	if err != nil {
		return usageError{err}
	}
	client, err := c.connect()
	if err != nil {
		return usageError{err}
	}
	defer client.close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var p node.Plan
	if err := client.send(ctx, "/api/config/plan", source.Bundle(), &p); err != nil {
		return usageError{err} // status 1 is that of a difference
	}
	if err := c.print(e, &p); err != nil {
		return err
	}
	switch {
	case len(p.Invalid)+len(p.Refused) > 0:
		return quietError(statusUsage)
	case len(p.Differences) > 0:
		return quietError(statusFailed)
	}
	return nil
}

// print prints a plan: the differences on standard output, and why a reload would refuse on standard error.
func (c *diffCmd) print(e *env, p *node.Plan) error {
	if c.Output == "json" {
		text, err := json.Marshal(p)
		if err != nil {
			return err
		}
		return e.print(append(text, '\n'))
	}
	var b strings.Builder
	section := ""
	for _, d := range p.Differences {
		if d.Section != section {
			section = d.Section
			b.WriteString(section + "\n")
		}
		b.WriteString(difference(d))
	}
	if err := e.print([]byte(b.String())); err != nil {
		return err
	}
	for _, wrong := range p.Invalid {
		fmt.Fprintln(e.stderr, wrong.Error())
	}
	for _, why := range p.Refused {
		fmt.Fprintf(e.stderr, "a reload refuses the file: %s\n", why)
	}
	return nil
}

// difference returns a line for a difference.
func difference(d config.Difference) string {
	sign := map[config.Kind]string{config.Added: "+", config.Removed: "-", config.Changed: "~"}[d.Kind]
	if d.Effect == config.NeedsRestart {
		sign = "!"
	}
	parts := []string{"  " + sign}
	for _, part := range []string{d.Entry, d.Field} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	line := strings.Join(parts, " ")
	if len(parts) > 1 && d.Was+d.Is != "" {
		line += ":"
	}
	if d.Was != "" || d.Is != "" {
		line += fmt.Sprintf(" %s -> %s", orNothing(d.Was), orNothing(d.Is))
	}
	notes := []string{}
	if d.Effect != config.Applies {
		notes = append(notes, string(d.Effect))
	}
	if d.Note != "" {
		notes = append(notes, d.Note)
	}
	if len(notes) > 0 {
		line += "   (" + strings.Join(notes, "; ") + ")"
	}
	return line + "\n"
}

func orNothing(value string) string {
	if value == "" {
		return `""`
	}
	return value
}
