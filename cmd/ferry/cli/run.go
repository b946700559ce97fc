package cli

import (
	"errors"
	"fmt"

	"example.com/ferry/internal/handover"
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

SIGUSR2, or ferry upgrade, starts the program again, such as a new version at the same path, and passes
it the sockets. This process ends when the new one serves, and goes on if that fails.

Examples:

    ferry run
    ferry run -c node.yaml
    ferry run -c examples/proxy/http1.yaml`
}

// Run runs a node until a signal comes.
func (c *runCmd) Run(e *env) error {
	sockets, before, err := handover.Inherit()
	if err != nil {
		return err
	}
	p := &runner{env: e, cmd: c, sockets: sockets, before: before}
	err = p.run()
	if err != nil && !p.served {
		before.Fail(err)
	}
	return err
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
