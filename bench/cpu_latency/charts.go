//go:build linux

package main

import (
	"fmt"
	"math"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/openloop"
)

// charts draws the distribution of latencies, and the CPU use of the seed's demonstration. The seed is the original program,
// hnes/cpuworker.
func (e *experiment) charts(*harness.Result) ([]harness.Chart, error) {
	all := []harness.Chart{e.distribution("latency", loads[0]), e.distribution("allocating", loads[1])}
	steps, err := e.steps()
	return append(all, steps), err
}

// distribution draws the latencies of a case, one line for each row. On the axis, 90 %, 99 % and 99.9 % have equal distances.
func (e *experiment) distribution(name string, l load) harness.Chart {
	nines := func(q float64) float64 { return -math.Log10(1 - q) }
	c := harness.Chart{
		Name: name, Title: "Latency of /delay1ms beside " + l.name, X: "share of the requests that took no longer", Y: "ms", LogY: true,
		XTicks: []harness.Tick{
			{At: 0, Label: "0"}, {At: nines(0.5), Label: "50 %"}, {At: nines(0.9), Label: "90 %"}, {At: nines(0.99), Label: "99 %"}, {At: nines(0.999), Label: "99.9 %"},
		},
	}
	for _, r := range rows {
		times := e.times[r.name+l.name]
		line := harness.Line{Name: r.name}
		for x := 0.0; x <= 3 && len(times) > 0; x += 0.05 {
			line.Points = append(line.Points, [2]float64{x, ms(times.Quantile(1 - math.Pow(10, -x)))})
		}
		if len(times) > 0 {
			c.Lines = append(c.Lines, line)
		}
	}
	return c
}

// seedStep is the duration of each of the three steps of the demonstration: quick requests only, quick requests with jobs, and
// quick requests only.
const seedStep = 3 * time.Second

// steps draws the CPU use of the example's two modes.
func (e *experiment) steps() (harness.Chart, error) {
	c := harness.Chart{
		Name: "steps", Title: "CPU use of examples/cpuserver: quick requests, ten jobs beside them, quick requests", X: "seconds", Y: "cores",
	}
	for i, label := range []string{"", ", jobs begin", ", jobs end", ""} {
		at := time.Duration(i) * e.seedStep
		c.XTicks = append(c.XTicks, harness.Tick{At: at.Seconds(), Label: at.String() + label})
	}
	for _, r := range rows {
		if r.name != plain && r.name != ferryPool {
			continue
		}
		line, err := e.step(r)
		if err != nil {
			return c, err
		}
		c.Lines = append(c.Lines, line)
	}
	return c, nil
}

// step samples one mode's CPU use.
func (e *experiment) step(r row) (harness.Line, error) {
	line := harness.Line{Name: r.name}
	server, path, err := r.start(e.dir, loads[0])
	if err != nil {
		return line, err
	}
	defer server.end()
	generate := func(s openloop.Spec) <-chan error {
		ended := make(chan error, 1)
		s.Addr = server.addr
		go func() { _, err := openloop.Measure(s); ended <- err }()
		return ended
	}
	total := 3 * e.seedStep
	io := generate(openloop.Spec{Open: []openloop.Open{{Path: "/delay1ms", Rate: 1000}}, Window: total})
	var jobs <-chan error
	start := time.Now()
	last, lastCPU := start, time.Duration(0)
	for {
		cpu, err := harness.ProcessCPU(server.cmd.Process.Pid)
		if err != nil {
			return line, err
		}
		now := time.Now()
		if now.After(last) && !last.Equal(start) {
			line.Points = append(line.Points, [2]float64{now.Sub(start).Seconds(), (cpu - lastCPU).Seconds() / now.Sub(last).Seconds()})
		}
		last, lastCPU = now, cpu
		if jobs == nil && now.Sub(start) >= e.seedStep {
			jobs = generate(openloop.Spec{Closed: []openloop.Closed{{Path: path, InFlight: loads[0].jobs.InFlight}}, Window: e.seedStep})
		}
		if now.Sub(start) >= total {
			break
		}
		time.Sleep(e.seedStep / 15)
	}
	for _, ended := range []<-chan error{io, jobs} {
		if err := <-ended; err != nil {
			return line, fmt.Errorf("cpu_latency: steps: %w", err)
		}
	}
	return line, nil
}
