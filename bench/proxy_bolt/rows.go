//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"example.com/ferry/bench/internal/boltload"
	"example.com/ferry/bench/internal/harness"
)

// row is one proxy, or none.
type row struct {
	name    string
	kind    harness.Kind
	version string
	argv    func(w boltload.Workload) ([]string, error) // command line of the proxy; nil means no proxy
	one     bool                                        // the proxy can use only one core
}

// The names of rows that goals compare.
const (
	ferryRow = "ferry"
	envoyRow = "Envoy, tcp_proxy"
	limitGo  = "limit: Go"
)

// experiment is the state that all measurements of a run share.
type experiment struct {
	dir      string
	at       boltload.Addresses
	rows     []row
	absent   []string // sentences about rows that are missing
	binary   boltload.Ferry
	compiler string
}

// newExperiment has the rows whose programs are installed.
func newExperiment(at boltload.Addresses) *experiment {
	e := &experiment{at: at}
	e.rows = []row{{name: ferryRow, kind: harness.Ferry, version: "this commit", argv: e.ferry}}
	for _, look := range []func() (row, error){e.envoy, e.haproxy, e.nginx} {
		e.add(look)
	}
	e.rows = append(e.rows, row{name: limitGo, kind: harness.Limit, version: runtime.Version() + ", epoll, one thread", argv: e.rawGo, one: true})
	e.add(e.rawC)
	e.rows = append(e.rows, row{name: "direct", kind: harness.Limit, version: "no proxy", one: true})
	return e
}

func (e *experiment) add(look func() (row, error)) {
	r, err := look()
	if err != nil {
		e.absent = append(e.absent, r.name+" has no row: "+err.Error()+".")
		return
	}
	e.rows = append(e.rows, r)
}

func (e *experiment) ferry(w boltload.Workload) ([]string, error) {
	f := e.binary
	if w.Upstream != 0 {
		var err error
		if f, err = f.Connections(w.Upstream); err != nil {
			return nil, err
		}
	}
	return f.Command(e.dir, e.at)
}

func (e *experiment) contender(r row) harness.Contender {
	return harness.Contender{Name: r.name, Kind: r.kind, Version: r.version, Measure: func(name string, budget time.Duration) (harness.Figures, error) {
		w := workloads[slices.IndexFunc(workloads, func(w boltload.Workload) bool { return w.Name == name })]
		if r.one && len(w.Cores) > 1 {
			return nil, nil
		}
		f, err := e.measure(r, w, max(20*budget, 100*time.Millisecond)) // a second
		if err == nil {
			fmt.Fprintf(os.Stderr, "proxy_bolt: %s, %s: %.2f µs, %.0f/s, p99 %.2f ms, CPU %.0f %%, load's %.0f %%, foreign %.2f\n",
				name, r.name, f[boltload.PerRequest], f[boltload.PerSecond], f[boltload.P99], f[boltload.Busy], f[boltload.LoadBusy], f[boltload.Foreign])
		}
		return f, err
	}}
}

func (e *experiment) measure(r row, w boltload.Workload, window time.Duration) (harness.Figures, error) {
	t := boltload.Trial{Load: w, At: e.at, Dir: e.dir, Asks: r.kind == harness.Ferry, Warm: window / 4, Window: window}
	if r.argv != nil {
		var err error
		if t.Argv, err = r.argv(w); err != nil {
			return nil, err
		}
	}
	result, err := t.Run()
	if err != nil {
		return nil, err
	}
	return result.Figures(), nil
}

// checkResponses sends requests of all sizes through each row.
func (e *experiment) checkResponses() error {
	w := boltload.Workload{Conns: 20, InFlight: 3, Least: 0, Most: 10 << 10, Upstream: 2, Cores: []int{0}}
	for _, r := range e.rows {
		if _, err := e.measure(r, w, 300*time.Millisecond); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}
