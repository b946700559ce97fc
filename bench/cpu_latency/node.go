//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/openloop"
)

// nodeConfig is the configuration of the node: all other fields have their defaults.
const nodeConfig = `listeners:
  - address: tcp://%s
admin:
  address: %s
data_dir: %s
functions:
  - name: checksums
    run: checksum
    observe: [checksum/#]
%s
`

// inNode says how each row declares the node's function. A row that is missing here is not measured in the case.
var inNode = map[string]string{
	alone:      "    cpu: light\n",
	plain:      "    cpu: light\n    concurrency: 10\n",
	ferryPool:  "    cpu: heavy\n",
	onePool:    "    cpu: heavy\ncpu:\n  tokens: " + oneMore + "\n  kernel_slices: true\n",
	niceWorker: "    cpu: worker\n    processes: 2\n",
}

// startNode starts the shipped binary.
func (e *experiment) startNode(r row) (*process, error) {
	var addrs [2]string
	for i := range addrs {
		var err error
		if addrs[i], err = ferrynode.FreeAddr(); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp(e.dir, "node-")
	if err != nil {
		return nil, err
	}
	file, data := filepath.Join(dir, "node.yaml"), filepath.Join(dir, "data")
	if err := os.WriteFile(file, fmt.Appendf(nil, nodeConfig, addrs[0], addrs[1], data, inNode[r.name]), 0o600); err != nil {
		return nil, err
	}
	p, err := spawn("", filepath.Join(e.dir, ferrynode.Binary), "run", "-c", file)
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	p.cmd.Stdout, p.cmd.Stderr = &said, &said
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cpu_latency: %w", err)
	}
	p.addr, p.data = addrs[0], data
	if err := ferrynode.WaitReady(addrs[1]); err != nil {
		p.end()
		return nil, fmt.Errorf("%w\n%s", err, said.Bytes())
	}
	return p, nil
}

// measureNode starts a prober process that measures a node.
func (e *experiment) measureNode(r row, l load, window time.Duration) (*openloop.Report, error) {
	node, err := e.startNode(r)
	if err != nil {
		return nil, err
	}
	defer node.end()
	what := probe{
		Addr: node.addr, Dir: node.data, Rate: 1000, PIDs: node.family(),
		Warm: min(window/3, time.Second), Window: window,
	}
	if r.name != alone {
		what.Jobs = l.jobs.InFlight
	}
	text, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"="+roleProbe, "GOGC=off")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cpu_latency: probe: %w", err)
	}
	report := new(openloop.Report)
	return report, json.Unmarshal(out, report)
}
