package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"example.com/ferry/bench/internal/harness"
)

//go:embed caller.py
var caller []byte

// wasmtime returns the row that calls the guest that hashes through wasmtime, from Python in a process of its own. It returns false
// if make deps has not installed wasmtime. The guest that reads a field has no case: the host's function would be Python.
func wasmtime(cases map[string]workload) (harness.Contender, bool) {
	python, version := findWasmtime()
	if version == "" {
		return harness.Contender{}, false
	}
	return harness.Contender{
		Name: wasmtimeRow, Kind: harness.Peer, Version: version,
		Measure: func(name string, budget time.Duration) (harness.Figures, error) {
			w := cases[name]
			if w.kind != payload {
				return nil, nil
			}
			dir, err := os.MkdirTemp("", "wasm_call-*")
			if err != nil {
				return nil, err
			}
			defer func() { _ = os.RemoveAll(dir) }()
			guest := filepath.Join(dir, "payload.wasm")
			if err := os.WriteFile(guest, payloadGuest, 0o600); err != nil {
				return nil, err
			}
			cmd := exec.Command(python, "-", guest, fmt.Sprint(w.size), fmt.Sprint(budget.Seconds()))
			cmd.Stdin, cmd.Stderr = strings.NewReader(string(caller)), os.Stderr
			out, err := cmd.Output()
			if err != nil {
				return nil, fmt.Errorf("wasmtime, %s: %w", name, err)
			}
			var ns, cpu float64
			if _, err := fmt.Sscan(string(out), &ns, &cpu); err != nil {
				return nil, fmt.Errorf("wasmtime, %s: printed %q: %w", name, out, err)
			}
			return harness.Figures{harness.NsPerOp: ns, harness.CPUPerOp: cpu}, nil
		},
	}, true
}

// findWasmtime returns the Python that has wasmtime, and wasmtime's version: none if it is not installed.
func findWasmtime() (python, version string) {
	root, err := harness.Root()
	if err != nil {
		return "", ""
	}
	python = filepath.Join(root, "bin", "python", "bin", "python")
	out, err := exec.Command(python, "-c", "import importlib.metadata; print(importlib.metadata.version('wasmtime'))").Output()
	if err != nil {
		return "", ""
	}
	return python, "v" + strings.TrimSpace(string(out))
}
