package cli

import (
	"encoding/json"
	"errors"
	"time"

	"example.com/ferry/node/config"
)

type checkCmd struct {
	Config   string `short:"c" required:"" placeholder:"FILE" help:"The configuration of a node, YAML."`
	Resolved bool   `help:"Print the configuration that counts: with included files, values of $${...} and defaults, without secrets."`
	Output   string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json."`
}

// Help returns the part of ferry check --help that is not in the grammar.
func (*checkCmd) Help() string {
	return `Each error is printed as file:line:column: field: reason, followed by that line of the file.
A certificate that has expired, or expires within 14 days, is a warning: the file is valid. So is a stream without a bound, and deployed
functions that may feed each other.

Examples:

    ferry check -c node.yaml
    ferry check -c node.yaml --resolved`
}

// Run reports whether the file is a valid configuration.
func (c *checkCmd) Run(e *env) error {
	var warnings []*config.Error
	var cfg *config.Config
	source, err := config.Read(c.Config)
	if err == nil {
		cfg, err = source.Config(e.extensions.Program())
	}
	if err == nil {
		warnings = append(source.CertificateWarnings(cfg, time.Now(), config.ExpirySoon), source.Warnings(cfg)...)
	}
	if c.Output == "json" && (err != nil || !c.Resolved) {
		return c.report(e, err, warnings)
	}
	for _, w := range warnings {
		e.note("warning: %v", w)
	}
	switch {
	case err != nil:
		return configError(e, err)
	case c.Resolved:
		return c.resolved(e, cfg)
	}
	return e.print([]byte(c.Config + ": ok\n"))
}

// resolved prints the configuration that counts.
func (c *checkCmd) resolved(e *env, cfg *config.Config) error {
	text, err := cfg.Resolved()
	if c.Output == "json" {
		text, err = cfg.ResolvedJSON()
	}
	if err != nil {
		return err
	}
	return e.print(text)
}

// report prints {"ok":true} with the warnings, or false and the errors.
func (c *checkCmd) report(e *env, err error, warnings []*config.Error) error {
	result := struct {
		OK       bool          `json:"ok"`
		Errors   config.Errors `json:"errors,omitempty"`
		Warnings config.Errors `json:"warnings,omitempty"`
	}{OK: err == nil, Warnings: warnings}
	if err != nil && !errors.As(err, &result.Errors) {
		result.Errors = config.Errors{{File: c.Config, Reason: err.Error()}}
	}
	text, marshalErr := json.Marshal(result)
	if marshalErr != nil {
		return marshalErr
	}
	if err := e.print(append(text, '\n')); err != nil || result.OK {
		return err
	}
	return quietError(statusUsage)
}
