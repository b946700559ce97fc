package openloop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// A process of this program that finds this variable in its environment is a generator.
const variable = "FERRY_BENCH_OPENLOOP"

// Main runs a generator if this process was started as one, and does not return then. A benchmark's main and the TestMain of
// its tests must call Main early.
func Main() {
	if os.Getenv(variable) == "" {
		return
	}
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// generate reads a Spec from standard input and writes a Report to standard output.
func generate() error {
	var s Spec
	if err := json.NewDecoder(os.Stdin).Decode(&s); err != nil {
		return fmt.Errorf("openloop: %w", err)
	}
	r, err := run(s)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// Measure starts a generator and returns its report.
func Measure(s Spec) (*Report, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("openloop: %w", err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("openloop: %w", err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), variable+"=1", "GOGC=off")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("openloop: generator: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	r := new(Report)
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("openloop: generator: %w", err)
	}
	return r, nil
}
