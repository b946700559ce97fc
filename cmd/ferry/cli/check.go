package cli

import (
	"encoding/json"
	"errors"

	"example.com/ferry/node/config"
)

type checkCmd struct {
	Config string `short:"c" required:"" placeholder:"FILE" help:"The configuration of a node, YAML."`
	Output string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json."`
}

// Help returns the part of ferry check --help that is not in the grammar.
func (*checkCmd) Help() string {
	return `Each error is printed as file:line:column: field: reason, followed by that line of the file.

Example:

    ferry check -c node.yaml`
}

// Run reports whether the file is a valid configuration.
func (c *checkCmd) Run(e *env) error {
	_, err := config.Load(c.Config, e.extensions.Program())
	if c.Output == "json" {
		return c.report(e, err)
	}
	if err == nil {
		return e.print([]byte(c.Config + ": ok\n"))
	}
	return configError(e, err)
}

// report prints {"ok":true}, or false and the errors.
func (c *checkCmd) report(e *env, err error) error {
	type problem struct {
		File   string `json:"file"`
		Line   int    `json:"line,omitempty"`
		Column int    `json:"column,omitempty"`
		Field  string `json:"field,omitempty"`
		Reason string `json:"reason"`
	}
	result := struct {
		OK     bool      `json:"ok"`
		Errors []problem `json:"errors,omitempty"`
	}{OK: err == nil}
	var errs config.Errors
	switch {
	case errors.As(err, &errs):
		for _, e := range errs {
			result.Errors = append(result.Errors, problem{e.File, e.Line, e.Column, e.Field, e.Reason})
		}
	case err != nil:
		result.Errors = []problem{{File: c.Config, Reason: err.Error()}}
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
