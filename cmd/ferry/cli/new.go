package cli

import (
	"fmt"
	"path/filepath"

	"example.com/ferry/cmd/ferry/scaffold"
)

type newCmd struct {
	Function newFunctionCmd `cmd:"" help:"Make the folder of a function, with a test."`
}

type newFunctionCmd struct {
	Lang string `required:"" enum:"go,javascript,python,rust" placeholder:"LANG" help:"go, javascript, python or rust."`
	Name string `arg:"" help:"The function, and the folder that is made: lower-case letters, digits, hyphens and underscores."`
}

// Help returns the part of ferry new function --help that is not in the grammar.
func (*newFunctionCmd) Help() string {
	return `The folder has a function that works, its test, and function.yaml, which says how it is built. In Go and Rust it is a WebAssembly guest, in JavaScript and Python a worker process. Nothing has to be downloaded: what a function needs to talk to its node is in the folder.

Examples:

    ferry new function alerts --lang go
    cd alerts && go test ./... && ferry dev`
}

// Run makes the folder.
func (c *newFunctionCmd) Run(e *env) error {
	if err := scaffold.Write(c.Name, filepath.Base(c.Name), c.Lang); err != nil {
		return err
	}
	test := map[string]string{"go": "go test ./...", "javascript": "node --test", "python": "python3 -m unittest", "rust": "cargo test"}[c.Lang]
	return e.print(fmt.Appendf(nil, "%s is made. Test it, and run it in a node that shows its messages:\n\n    cd %s\n    %s\n    ferry dev\n", c.Name, c.Name, test))
}
