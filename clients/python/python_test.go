package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/ferry/internal/needs"
)

// TestUnit runs the tests of the package that need no node. cmd/ferry/cli runs the others.
func TestUnit(t *testing.T) {
	t.Parallel()
	run(t, needs.Program(t, "python3"), "-m", "unittest", "tests.test_wire", "tests.test_session", "tests.test_worker")
}

// TestTypes checks the types of the package, its tests' driver and its examples.
func TestTypes(t *testing.T) {
	t.Parallel()
	run(t, venv(t), "-m", "mypy", "--strict", "--cache-dir", t.TempDir(), "ferry_client", "tests/conformance.py", "examples")
}

// TestWheel builds the wheel, installs it into a directory of its own and imports it from there.
func TestWheel(t *testing.T) {
	t.Parallel()
	python := venv(t)
	source, to := filepath.Join(t.TempDir(), "source"), t.TempDir()
	if err := os.CopyFS(source, os.DirFS(".")); err != nil { // pip builds beside the source
		t.Fatal(err)
	}
	run(t, python, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--no-index", "--target", to, source)
	run(t, python, "-I", "-c", "import sys; sys.path.insert(0, sys.argv[1]); import ferry_client, ferry_client.worker; print(ferry_client.__file__)", to)
	if _, err := os.Stat(filepath.Join(to, "ferry_client", "py.typed")); err != nil {
		t.Error(err)
	}
}

// venv returns the Python that has the libraries of scripts/python-libraries.txt.
func venv(t *testing.T) string {
	t.Helper()
	python, err := filepath.Abs("../../bin/python/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(python, "-c", "import mypy, wheel").Run(); err != nil {
		needs.Missing(t, "mypy and wheel for Python in bin/python", "make deps")
	}
	return python
}

func run(t *testing.T, python string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("python %q: %v\n%s", args, err, out)
	}
}
