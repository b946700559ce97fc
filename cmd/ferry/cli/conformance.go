package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"example.com/ferry/internal/godriver"
	"example.com/ferry/protocol/native/conformance"
)

type conformanceCmd struct {
	Client conformanceClientCmd `cmd:"" help:"Prove a client, which a driver program wraps."`
	Node   conformanceNodeCmd   `cmd:"" help:"Prove a running node."`
	Driver conformanceDriverCmd `cmd:"" hidden:""`
}

// caseFlags are those of both directions.
type caseFlags struct {
	Run     string        `placeholder:"PATTERN" help:"Only the cases whose name matches this regular expression, such as '^credit/'."`
	Timeout time.Duration `default:"10s" placeholder:"TIME" help:"The longest time that a case may take. The default is 10s."`
	Output  string        `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json (one line of JSON per case)."`
}

// play runs cases with the options of the flags, prints the verdicts, and returns an error if a case has failed.
func (c *caseFlags) play(e *env, cases func(context.Context, conformance.Options) []conformance.Result) error {
	o := conformance.Options{Timeout: c.Timeout}
	if c.Timeout <= 0 {
		return usagef("--timeout %v: want a positive time", c.Timeout)
	}
	var err error
	if o.Run, err = regexp.Compile(c.Run); err != nil {
		return usagef("--run: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var outErr error
	count := map[conformance.Verdict]int{}
	o.Report = func(r conformance.Result) {
		count[r.Verdict]++
		line := []byte(r.String())
		if c.Output == "json" {
			line, _ = json.Marshal(r) // a struct of texts
		}
		if outErr == nil {
			if outErr = e.print(append(line, '\n')); outErr != nil {
				cancel()
			}
		}
	}
	results := cases(ctx, o)
	switch {
	case outErr != nil:
		return outErr
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted after %d cases", len(results))
	case len(results) == 0:
		return usagef("--run %s matches no case: docs/conformance.md lists them", c.Run)
	}
	e.note("%d passed, %d failed, %d skipped", count[conformance.Pass], count[conformance.Fail], count[conformance.Skip])
	if count[conformance.Fail] > 0 {
		return quietError(statusFailed)
	}
	return nil
}

// conformanceDriverCmd is the driver of Go's client.
type conformanceDriverCmd struct{}

// Run carries out the instructions on standard input.
func (*conformanceDriverCmd) Run(e *env) error {
	return godriver.Run(context.Background(), e.stdin, e.stdout, e.stderr)
}
