package cli

import (
	"context"
	"fmt"
	"os"

	"example.com/ferry/cpu/worker"
)

// workerCmd runs one function in this process. A node starts it to have a function in a process of its own.
type workerCmd struct {
	Name string `arg:"" help:"The function."`
}

// ownCommand returns the command line of a verb of the program of this process, although another version may be at its path by now: Linux has a
// name for that.
func ownCommand(verb string) ([]string, error) {
	const running = "/proc/self/exe"
	if _, err := os.Stat(running); err == nil {
		return []string{running, verb}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return []string{self, verb}, nil
}

// Run handles what the node sends.
func (c *workerCmd) Run(e *env) error {
	for _, f := range e.extensions.Functions {
		if f.Name == c.Name {
			return worker.Serve(context.Background(), f.New())
		}
	}
	return usageError{fmt.Errorf("no function %q: want one of %v", c.Name, e.extensions.Program().Functions)}
}
