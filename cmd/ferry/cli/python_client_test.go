package cli

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/ferry/internal/needs"
)

// TestPythonClient runs the tests of clients/python that need a node, with its examples. They start nodes of this binary.
func TestPythonClient(t *testing.T) {
	t.Parallel()
	python := needs.Program(t, "python3")
	needs.Program(t, "openssl")
	ferry := filepath.Join(t.TempDir(), "ferry")
	if err := os.Symlink(os.Args[0], ferry); err != nil {
		t.Fatal(err)
	}
	cmd := process(t.Context(), python, "-m", "unittest", "tests.test_node")
	cmd.Dir = "../../../clients/python"
	cmd.Env = append(cmd.Env, "FERRY="+ferry)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
