// Testrun runs `go test -race -shuffle=on ./...` in each module named and sums up: what failed, what was skipped and how
// to bring it, and on the last line the counts.
//
// Exit status 0 means that nothing failed. With CI=true in the environment a skipped test is a failure too. Where there is
// no C compiler the race detector is left out, and the first line says so.
//
//	go run ./internal/testrun . bench
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: testrun MODULE-DIRECTORY...")
		os.Exit(2)
	}
	ok, err := run(os.Stdout, os.Args[1:], os.Getenv("CI") == "true")
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// run tests the modules, writes the report to w and tells whether all is well: nothing failed and, if strict, nothing was
// skipped. An error means that the tests could not be run.
func run(w io.Writer, modules []string, strict bool) (bool, error) {
	args := []string{"test", "-json", "-shuffle=on"}
	if hasCompiler() {
		args = append(args, "-race")
	} else {
		fmt.Fprintln(w, "no C compiler: testing without -race")
	}
	t := newTally(w)
	for _, dir := range modules {
		if err := testModule(t, dir, append(args, "./...")); err != nil {
			return false, fmt.Errorf("module %s: %w", dir, err)
		}
	}
	t.summary(strict)
	return t.failed == 0 && (!strict || len(t.skipped) == 0), nil
}

// testModule feeds the events of one `go test` to t. That the command fails is news only if no event told of it.
func testModule(t *tally, dir string, args []string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	before := t.failed
	decodeErr := decode(out, t)
	if err := cmd.Wait(); err != nil && t.failed == before {
		return err
	}
	return decodeErr
}

func decode(r io.Reader, t *tally) error {
	for dec := json.NewDecoder(r); ; {
		var e event
		switch err := dec.Decode(&e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the output of go test -json: %w", err)
		}
		t.add(e)
	}
}

// hasCompiler reports whether the race detector can be linked, which takes cgo.
func hasCompiler() bool {
	out, err := exec.Command("go", "env", "CGO_ENABLED", "CC").Output()
	if err != nil {
		return false
	}
	enabled, cc, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	name, _, _ := strings.Cut(cc, " ")
	_, err = exec.LookPath(name)
	return enabled == "1" && err == nil
}
