package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/pinned"
)

const (
	bodySize = 1024                   // bytes
	rate     = 1000                   // requests a second
	flights  = 20                     // requests in flight while each connection carries one request in turn
	patience = time.Minute            // timeout for one request on each connection
	settle   = 300 * time.Millisecond // pause before memory is read; shorter if the window is short
	proxies  = 0                      // number of the proxies' core
	ends     = 1                      // number of the core of clients and backend
)

// addresses are where the programs listen.
type addresses struct {
	proxy, backend string
	admins         []string // the admin servers of the processes
}

// shipped are not the examples' addresses, so that a node with an example may run at the same time.
var shipped = addresses{"127.0.0.1:19080", "127.0.0.1:19090", []string{
	"127.0.0.1:19101", "127.0.0.1:19102", "127.0.0.1:19103", "127.0.0.1:19104", "127.0.0.1:19105", "127.0.0.1:19106", "127.0.0.1:19107",
}}

// experiment is the state that all measurements of a run share.
type experiment struct {
	at       addresses
	loads    []load
	rows     []row
	notes    []string
	dir      string
	examples map[keepalive.Wire]string // ferry's configurations
}

func newExperiment(at addresses, loads []load) *experiment {
	e := &experiment{at: at, loads: loads, examples: map[keepalive.Wire]string{}}
	e.rows, e.notes = rows()
	return e
}

// prepare builds ferry, and checks the limit of descriptors.
func (e *experiment) prepare(dir string) error {
	e.dir = dir
	if runtime.NumCPU() < 2 {
		return fmt.Errorf("needs two cores: here is %d", runtime.NumCPU())
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	for _, l := range e.loads {
		if need := uint64(l.conns/l.processes + l.conns/l.processes/10 + 100); limit.Max < need { // the kernel does not spread them evenly
			return fmt.Errorf("needs %d descriptors a process for %s: the limit is %d, see ulimit -Hn", need, l.name, limit.Max)
		}
	}
	for _, w := range []keepalive.Wire{keepalive.HTTP1, keepalive.Bolt} {
		var err error
		if e.examples[w], err = httpproxy.Example(w); err != nil {
			return err
		}
	}
	return ferrynode.Build(dir)
}

// setup returns the setup of process i.
func (e *experiment) setup(workers, i int) (httpproxy.Setup, error) {
	dir, err := os.MkdirTemp(e.dir, "proxy-")
	return httpproxy.Setup{
		Dir: dir, Cores: []int{proxies}, Workers: workers, Listen: e.at.proxy, Upstream: e.at.backend, Admin: e.at.admins[i],
	}, err
}

// measure measures for 40 budgets: 2 s.
func (e *experiment) measure(r row) func(string, time.Duration) (harness.Figures, error) {
	return func(name string, budget time.Duration) (harness.Figures, error) {
		l := e.loads[slices.IndexFunc(e.loads, func(l load) bool { return l.name == name })]
		if !r.in(l) {
			return nil, nil
		}
		f, why, err := e.run(r, l, max(40*budget, 100*time.Millisecond))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "idle_conns: %s, %s: %.0f bytes, %.1f MiB, used %.1f, CPU %.1f %%, p50 %.3f ms, p99 %.3f ms, foreign %.2f, %.0f failures %s\n",
			l.name, r.name, f[idle], f[total], f[usedTotal], f[cpu], f[p50], f[p99], f[foreign], f[failures], why)
		return f, nil
	}
}

// run measures one row in one case. why is the text of the first failure.
func (e *experiment) run(r row, l load, window time.Duration) (f harness.Figures, why string, err error) {
	backend, err := keepalive.StartBackend([]int{ends}, r.wire, bodySize, e.at.backend)
	if err != nil {
		return nil, "", err
	}
	defer backend.Stop()
	processes, admins, err := e.start(r, l)
	defer func() { stop(processes) }()
	if err != nil {
		return nil, "", err
	}
	if err := e.greet(r, l); err != nil {
		return nil, "", err
	}
	first := l
	first.conns /= 2
	c, err := e.connect(r, first)
	defer c.end()
	if err != nil {
		return nil, "", err
	}
	rest := min(settle, window/4)
	half, pids, err := memory(processes, rest)
	if err != nil {
		return nil, "", err
	}
	if err := c.more(l.conns - first.conns); err != nil {
		return nil, "", err
	}
	whole, _, err := memory(processes, rest)
	if err != nil {
		return nil, "", err
	}
	f = harness.Figures{idle: (whole - half) / float64(l.conns-first.conns), total: whole / (1 << 20)}
	usage, err := harness.Used(slices.Concat(pids, backend.Family(), c.pids()))
	if err != nil {
		return nil, "", err
	}
	report, err := c.run(keepalive.Load{Rate: rate, Warm: window / 4, Window: window, PIDs: pids})
	if err != nil {
		return nil, "", err
	}
	usageAfter, err := harness.Used(slices.Concat(pids, backend.Family(), c.pids()))
	if err != nil {
		return nil, "", err
	}
	_, f[foreign] = usage.Until(usageAfter)
	all, err := c.run(keepalive.Load{Once: flights, Window: patience})
	if err != nil {
		return nil, "", err
	}
	after, _, err := memory(processes, rest)
	if err != nil {
		return nil, "", err
	}
	f[usedTotal] = after / (1 << 20)
	f[cpu] = 100 * report.CPU.Seconds() / report.Window.Seconds()
	f[p50], f[p99] = ms(report.Times.Quantile(0.5)), ms(report.Times.Quantile(0.99))
	f[late99] = ms(report.Late.Quantile(0.99))
	f[failures] = float64(report.Failures + all.Failures)
	for _, admin := range admins {
		n, err := httpproxy.Goroutines(admin)
		if err != nil {
			return nil, "", err
		}
		f[goroutines] += n
	}
	return f, cmp.Or(report.Failure, all.Failure), nil
}

// stop stops all processes at the same time.
func stop(processes []*pinned.Process) {
	var all sync.WaitGroup
	for _, p := range processes {
		all.Go(p.Stop)
	}
	all.Wait()
}

// greet sends the first requests, a few to each process.
func (e *experiment) greet(r row, l load) error {
	few := l
	few.conns = min(l.conns, 6*l.processes)
	c, err := e.connect(r, few)
	defer c.end()
	if err != nil {
		return err
	}
	report, err := c.run(keepalive.Load{Window: 100 * time.Millisecond})
	if err == nil && report.Failures > 0 {
		err = errors.New(report.Failure)
	}
	return err
}

// memory returns the anonymous memory of processes and their children after a pause, and the PIDs of all of them.
func memory(processes []*pinned.Process, rest time.Duration) (anonymous float64, pids []int, err error) {
	time.Sleep(rest)
	for _, p := range processes {
		m, err := p.Memory()
		if err != nil {
			return 0, nil, err
		}
		anonymous += float64(m.Anon)
		pids = append(pids, p.Family()...)
	}
	return anonymous, pids, nil
}

// checkResponses sends requests through every row in each case, over a few connections.
func (e *experiment) checkResponses() error {
	for _, l := range e.loads {
		for _, r := range e.rows {
			if !r.in(l) {
				continue
			}
			few := l
			few.conns = 200
			f, why, err := e.run(r, few, 100*time.Millisecond)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", r.name, l.name, err)
			}
			if f[failures] > 0 {
				return fmt.Errorf("%s, %s: %v failures: %s", r.name, l.name, f[failures], why)
			}
		}
	}
	return nil
}

// disturbed reports whether the client sent its requests too late.
func disturbed(f harness.Figures) bool { return f[late99] > 0.5 }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
