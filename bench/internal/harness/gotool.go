package harness

import (
	"fmt"
	"os/exec"
	"strings"
)

// Go runs the go command in ferry's own module: what a question builds there is what this commit ships.
func Go(args ...string) error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "example.com/ferry").Output()
	if err != nil {
		return fmt.Errorf("harness: where is example.com/ferry: %w", err)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = strings.TrimSpace(string(root))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("harness: %s: %w\n%s", cmd, err, out)
	}
	return nil
}
