//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/openloop"
)

const exampleBinary = "cpuserver"

var goVersion = runtime.Version()

// experiment is the state that all measurements of a run share.
type experiment struct {
	dir      string
	seedStep time.Duration              // duration of each step in the chart of CPU use
	base     map[string]harness.Figures // figures of the rows alone and plain in the current round, by row and case
	times    map[string]openloop.Times  // of I/O in the last undisturbed measurement, by row and case
}

// prepare builds the example and the node.
func (e *experiment) prepare(dir string) error {
	e.dir = dir
	if err := ferrynode.Build(dir); err != nil {
		return err
	}
	return harness.Program(filepath.Join(dir, exampleBinary), "./examples/cpuserver")
}

func (e *experiment) contender(r row) harness.Contender {
	return harness.Contender{Name: r.name, Kind: r.kind, Version: r.version(), Measure: func(name string, budget time.Duration) (harness.Figures, error) {
		if name == cost {
			return r.cost(budget)
		}
		l := loads[slices.IndexFunc(loads, func(l load) bool { return l.name == name })]
		if !r.in(l) {
			return nil, nil
		}
		return e.measure(r, l, budget)
	}}
}

// measure warms up and measures for 70 budgets: 3.5 s.
func (e *experiment) measure(r row, l load, budget time.Duration) (harness.Figures, error) {
	window := max(70*budget, 100*time.Millisecond)
	if l.twice {
		window *= 2
	}
	ask := e.ask
	if l.name == throughNode {
		ask = e.measureNode
	}
	report, err := ask(r, l, window)
	if err != nil {
		return nil, err
	}
	f, err := figures(report, window)
	if err != nil {
		return nil, err
	}
	e.relate(r.name, l.name, f)
	if !disturbed(f) && f[foreign] <= harness.ForeignLimit || e.times[r.name+l.name] == nil {
		e.times[r.name+l.name] = report.Open[0]
	}
	fmt.Fprintf(os.Stderr, "cpu_latency: %s, %s: p99 %.2f ms, %.2f times alone, work %.3f, short %.1f, %.2f cores, foreign %.2f, late %.3f ms\n",
		l.name, r.name, f[p99], f[inflation], f[work], f[short99], f[cores], f[foreign], f[late99])
	return f, nil
}

// ask measures the row's server with a load generator. If the case has foreign busy loops, they run at the same time.
func (e *experiment) ask(r row, l load, window time.Duration) (*openloop.Report, error) {
	server, path, err := r.start(e.dir, l)
	if err != nil {
		return nil, err
	}
	defer server.end()
	spec := openloop.Spec{
		Addr: server.addr, Open: []openloop.Open{{Path: "/delay1ms", Rate: 1000}},
		Warm: min(window/3, time.Second), Window: window, Count: "/stats", PIDs: server.family(),
	}
	for range l.loops {
		loop, err := startLoop()
		if err != nil {
			return nil, err
		}
		defer loop.end()
		spec.PIDs = append(spec.PIDs, loop.cmd.Process.Pid)
	}
	if r.name != alone {
		spec.Closed = []openloop.Closed{{Path: path, InFlight: l.jobs.InFlight}}
		if l.short > 0 {
			spec.Open = append(spec.Open, openloop.Open{Path: "/short", Rate: l.short})
		}
	}
	return openloop.Measure(spec)
}

// figures returns the figures of a report.
func figures(r *openloop.Report, window time.Duration) (harness.Figures, error) {
	var counts [2]stats
	var errs error
	for i := range counts {
		errs = errors.Join(errs, json.Unmarshal([]byte(r.Counts[i].Body), &counts[i]))
	}
	if errs != nil {
		return nil, fmt.Errorf("cpu_latency: /stats: %w", errs)
	}
	io := r.Open[0]
	f := harness.Figures{
		p50: ms(io.Quantile(0.5)), p99: ms(io.Quantile(0.99)), p999: ms(io.Quantile(0.999)),
		units:   float64(counts[1].Checksums-counts[0].Checksums) / (r.Counts[1].At - r.Counts[0].At).Seconds(),
		cores:   r.Own.Seconds() / window.Seconds(),
		foreign: r.Foreign, late99: ms(r.Late.Quantile(0.99)), fifo: 0,
	}
	if gc := counts[1].GC - counts[0].GC; gc > 0 {
		f[collector] = gc / window.Seconds()
	}
	if len(r.Open) > 1 {
		f[short50], f[short99] = ms(r.Open[1].Quantile(0.5)), ms(r.Open[1].Quantile(0.99))
	}
	if r.FIFO {
		f[fifo] = 1
	}
	return f, nil
}

// relate adds ratios to the base rows of the same round. The base rows are measured first.
func (e *experiment) relate(row, load string, f harness.Figures) {
	e.base[row+load] = f
	if base, ok := e.base[alone+load]; ok && row != alone && base[p99] > 0 {
		f[inflation] = f[p99] / base[p99]
	}
	if base, ok := e.base[plain+load]; ok && row != alone && base[units] > 0 {
		f[work] = f[units] / base[units]
	}
}

// disturbed reports whether the generator was late, which adds to all latencies.
func disturbed(f harness.Figures) bool { return f[late99] > 0.5 }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
