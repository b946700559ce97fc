//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"example.com/ferry/bench/internal/boltload"
	"example.com/ferry/bench/internal/harness"
)

// row is one build of ferry.
type row struct {
	name, version string
	binary        string
	flags         []string // flags of go build
}

var rows = []row{
	{reusing, "this commit", "ferry", nil},
	{allocating, "this commit, -tags nopool", "ferry-nopool", []string{"-tags", "nopool"}},
}

// experiment is the state that all measurements of a run share.
type experiment struct {
	dir    string
	at     boltload.Addresses
	builds map[string]boltload.Ferry // by row
}

func newExperiment(at boltload.Addresses) *experiment {
	return &experiment{at: at, builds: make(map[string]boltload.Ferry)}
}

// prepare builds the binaries of both rows.
func (e *experiment) prepare(dir string) (err error) {
	e.dir = dir
	for _, r := range rows {
		if e.builds[r.name], err = boltload.Build(dir, r.binary, r.flags...); err != nil {
			return err
		}
	}
	return nil
}

func (e *experiment) contender(r row) harness.Contender {
	return harness.Contender{Name: r.name, Kind: harness.Ferry, Version: r.version, Measure: func(name string, budget time.Duration) (harness.Figures, error) {
		w := workloads[slices.IndexFunc(workloads, func(w boltload.Workload) bool { return w.Name == name })]
		f, err := e.measure(r, w, max(60*budget, 100*time.Millisecond)) // 3 s
		if err == nil {
			fmt.Fprintf(os.Stderr, "buffer_reuse: %s, %s: %.0f/s, %.2f µs, %.1f MiB, %.0f B/request, %.0f collections/million, foreign %.2f\n",
				name, r.name, f[boltload.PerSecond], f[boltload.PerRequest], f[boltload.Anonymous], f[allocated], f[cycles], f[boltload.Foreign])
		}
		return f, err
	}}
}

func (e *experiment) measure(r row, w boltload.Workload, window time.Duration) (harness.Figures, error) {
	ferry, err := e.builds[r.name], error(nil)
	if w.Upstream != 0 {
		if ferry, err = ferry.Connections(w.Upstream); err != nil {
			return nil, err
		}
	}
	argv, err := ferry.Command(e.dir, e.at)
	if err != nil {
		return nil, err
	}
	result, err := boltload.Trial{Load: w, At: e.at, Dir: e.dir, Argv: argv, Asks: true, Warm: window / 8, Window: window}.Run()
	if err != nil {
		return nil, err
	}
	f := result.Figures()
	requests := float64(result.All)
	f[allocated] = result.Grown("go_memstats_alloc_bytes_total") / requests
	collections := result.Grown("go_gc_duration_seconds_count")
	f[cycles] = collections / requests * 1e6
	if collections > 0 {
		f[pause] = result.Grown("go_gc_duration_seconds_sum") / collections * 1e6
	}
	return f, nil
}

// some is a small load that the checks use.
var some = boltload.Workload{Conns: 20, InFlight: 3, Least: 0, Most: 10 << 10, Upstream: 2, Cores: []int{0}}

func (e *experiment) checkResponses() error {
	for _, r := range rows {
		if _, err := e.measure(r, some, 300*time.Millisecond); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// checkSwitch checks that the two builds differ in what they allocate.
func (e *experiment) checkSwitch() error {
	each := make(map[string]float64)
	for _, r := range rows {
		f, err := e.measure(r, boltload.OneEach, 500*time.Millisecond)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		each[r.name] = f[allocated]
	}
	if on, off := each[reusing], each[allocating]; off < float64(boltload.OneEach.Least) || off < 2*on {
		return fmt.Errorf("reusing, %.0f bytes are allocated for each request, and %.0f without", on, off)
	}
	return nil
}
