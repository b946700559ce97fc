package main

import (
	"context"
	"fmt"
	"os"

	"example.com/ferry"
	"example.com/ferry/cpu/worker"
	"example.com/ferry/format"
	"example.com/ferry/node"
	"example.com/ferry/node/config"
	"example.com/ferry/node/live"
)

// functions are those that a configuration can name by run.
func functions(formats []format.Format) []node.Function {
	return []node.Function{
		{Name: "averages", New: func() ferry.Handler { return new(live.Averages) }},
		{Name: "alerts", New: func() ferry.Handler { return new(live.Alerts) }},
		{Name: "checksum", New: func() ferry.Handler { return live.Checksum{Formats: formats} }},
	}
}

// functionNames are their names.
func functionNames(formats []format.Format) []string {
	var all []string
	for _, f := range functions(formats) {
		all = append(all, f.Name)
	}
	return all
}

// program is what a configuration can name.
func program(formats []format.Format) config.Program {
	return config.Program{Functions: functionNames(formats), Formats: formats}
}

// workerCmd is what a node runs this program as, to have one of the functions in a process of its own.
type workerCmd struct {
	Name string `arg:"" help:"The function."`
}

// workerCommand is the command line of workerCmd, without the name.
func workerCommand() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return []string{self, "worker"}, nil
}

// Run handles what the node sends.
func (c *workerCmd) Run(e *env) error {
	for _, f := range functions(e.formats) {
		if f.Name == c.Name {
			return worker.Serve(context.Background(), f.New())
		}
	}
	return usageError{fmt.Errorf("no function %q: want one of %v", c.Name, functionNames(e.formats))}
}
