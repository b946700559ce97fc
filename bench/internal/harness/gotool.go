package harness

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Root returns the directory of ferry's own module.
func Root() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "example.com/ferry").Output()
	if err != nil {
		return "", fmt.Errorf("harness: where is example.com/ferry: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Go runs the go command in ferry's own module, so that a benchmark builds the programs of this commit.
func Go(args ...string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("harness: %s: %w\n%s", cmd, err, out)
	}
	return nil
}

// Program writes the program of a main package of ferry's own module to the file at path, compiled with -trimpath as by make build, and with further flags
// of the go command. Unlike go build, go run keeps what it has linked in the build cache, so that the questions of one commit link a program once.
func Program(path, pkg string, flags ...string) error {
	return Go(slices.Concat([]string{"run", "-trimpath", "-exec", "cp"}, flags, []string{pkg, path})...)
}
