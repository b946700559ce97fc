//go:build linux

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"example.com/ferry/bench/internal/boltload"
	"example.com/ferry/bench/internal/harness"
)

// connections is the number of connections that a limit opens to the backend.
func connections(w boltload.Workload) string {
	if w.Upstream == 0 {
		return strconv.Itoa(boltload.Shared)
	}
	return strconv.Itoa(w.Upstream)
}

// prepare builds ferry and the limits.
func (e *experiment) prepare(dir string) (err error) {
	e.dir = dir
	if e.binary, err = boltload.Build(dir, "ferry"); err != nil {
		return err
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "rawgo"), "example.com/ferry/bench/proxy_bolt/rawgo").CombinedOutput(); err != nil {
		return fmt.Errorf("proxy_bolt: build the limit in Go: %w\n%s", err, out)
	}
	if e.compiler == "" {
		return nil
	}
	source := filepath.Join(dir, "relay.c")
	if err := os.WriteFile(source, relay, 0o600); err != nil {
		return err
	}
	if out, err := exec.Command(e.compiler, "-O2", "-o", filepath.Join(dir, "rawc"), source).CombinedOutput(); err != nil {
		return fmt.Errorf("proxy_bolt: build the limit in C: %w\n%s", err, out)
	}
	return nil
}

//go:embed rawc/relay.c
var relay []byte

func (e *experiment) rawGo(w boltload.Workload) ([]string, error) {
	return []string{filepath.Join(e.dir, "rawgo"), e.at.Proxy, e.at.Backend, connections(w)}, nil
}

func (e *experiment) rawC() (row, error) {
	r := row{name: "limit: C", kind: harness.Limit, version: "gcc -O2, epoll, one thread", one: true}
	path, err := exec.LookPath("gcc")
	if err != nil {
		return r, errors.New("gcc is not installed")
	}
	e.compiler = path
	r.argv = func(w boltload.Workload) ([]string, error) {
		_, here, err := net.SplitHostPort(e.at.Proxy)
		if err != nil {
			return nil, err
		}
		_, there, err := net.SplitHostPort(e.at.Backend)
		return []string{filepath.Join(e.dir, "rawc"), here, there, connections(w)}, err
	}
	return r, nil
}
