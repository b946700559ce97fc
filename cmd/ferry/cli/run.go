package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"example.com/ferry/cpu"
	"example.com/ferry/node"
	"example.com/ferry/node/config"
)

type runCmd struct {
	Config string `short:"c" placeholder:"FILE" help:"The configuration, YAML. Without it, the node uses defaults, with this machine's sensors as live input."`
}

// Help returns the part of ferry run --help that is not in the grammar.
func (*runCmd) Help() string {
	return `Ctrl-C or SIGTERM drains the node: it delivers the messages and finishes the requests in flight, then ends. A second signal ends it at once.

The configuration is reloaded on SIGHUP, and when one of its files has changed and then did not change
for a second: the file itself, those that it includes, files of ${file:PATH} and token files. SIGHUP also
reopens the access log. It is applied as a whole: a file with an error, or with a change that needs a
restart, changes nothing, and the log says why. ferry diff says before what a file would change.

Examples:

    ferry run
    ferry run -c node.yaml
    ferry run -c examples/proxy/http1.yaml`
}

// Run runs a node until a signal comes.
func (c *runCmd) Run(e *env) error {
	cfg, source, err := c.load(e)
	if err != nil {
		return configError(e, err)
	}
	if cfg.Heavy() {
		tuned := cpu.TuneProcess(cpu.Tuning{Tokens: cfg.CPU.Tokens, KeepKernelSlices: !cfg.CPU.KernelSlices})
		if tuned.Err != nil {
			e.note("heavy functions run without short time slices: %v", tuned.Err)
		}
	}
	command, err := workerCommand()
	if err != nil {
		return err
	}
	hangups := make(chan os.Signal, 1)
	if c.Config != "" {
		signal.Notify(hangups, syscall.SIGHUP)
		defer signal.Stop(hangups)
	}
	extensions := e.extensions
	extensions.Worker = command
	extensions.Phases = systemdPhases(e)
	n, err := node.Build(cfg, extensions)
	if err != nil {
		return err
	}
	ctx, drain := context.WithCancel(context.Background())
	defer drain()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		<-signals
		e.note("draining; Ctrl-C again ends at once")
		drain()
		<-signals
		os.Exit(statusKilled)
	}()
	if c.Config != "" {
		go n.Watch(ctx, source, hangups)
	}
	ran := make(chan error, 1)
	go func() { ran <- n.Run(ctx) }()
	select {
	case err := <-ran:
		return err
	case <-n.Ready():
	}
	stopWatchdog := systemdWatchdog(e, n)
	defer stopWatchdog()
	if err := welcome(e, cfg, n); err != nil && !errors.As(err, new(quietError)) {
		drain()
		return errors.Join(err, <-ran)
	}
	return <-ran
}

// load returns the configuration and its text; nil without a file.
func (c *runCmd) load(e *env) (*config.Config, *config.Source, error) {
	if c.Config == "" {
		return config.Default(), nil, nil
	}
	source, err := config.Read(c.Config)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := source.Config(e.extensions.Program())
	return cfg, source, err
}

// configError prints the errors of a configuration, one a line, as editors parse them.
func configError(e *env, err error) error {
	var errs config.Errors
	if errors.As(err, &errs) {
		fmt.Fprintln(e.stderr, errs)
		return quietError(statusUsage)
	}
	return usageError{err}
}
