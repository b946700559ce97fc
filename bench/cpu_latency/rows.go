//go:build linux

package main

import (
	"path/filepath"
	"slices"
	"strconv"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/openloop"
	"example.com/ferry/cpu"
)

// load is a case. It describes the requests that run at the same time as /delay1ms.
type load struct {
	name  string
	jobs  openloop.Closed
	short float64 // jobs of one millisecond per second
	loops int     // foreign busy loops
	gogc  int     // value of GOGC; 0 means the default
	twice bool    // the window is twice as long, as there are few short jobs
	rows  []string
}

const (
	checkpointing = "10 jobs that checkpoint"
	allocating    = "10 allocating jobs"
	foreignLoops  = "the same, two foreign loops"
	shortAndLong  = "1 ms jobs beside six of 0.5 s"
	neverYields   = "the same, never checkpointing"
	throughNode   = "10 jobs in a node's function"
	cost          = "cost"
)

// The names of the rows.
const (
	alone       = "alone"
	plain       = "plain goroutines"
	gosched100  = "runtime.Gosched each 100 us"
	gosched1000 = "runtime.Gosched each 1 ms"
	semaphores  = "semaphore, GOMAXPROCS 2x"
	ferryPool   = "ferry"
	ferryGate   = "ferry, no kernel slices"
	onePool     = "ferry, cores+1 tokens"
	oneGate     = "ferry, cores+1, no slices"
	niceWorker  = "ferry worker, nice 10"
	idleWorker  = "ferry worker, SCHED_IDLE"
	cpuworker   = "cpuworker, one P for two cores"
	cpuworker2  = "cpuworker, P = cores"
)

var loads = []load{
	{name: checkpointing, jobs: openloop.Closed{Path: "/job", InFlight: 10}, rows: []string{
		alone, plain, gosched100, gosched1000, semaphores, ferryPool, ferryGate, onePool, oneGate, niceWorker, idleWorker,
	}},
	{name: allocating, jobs: openloop.Closed{Path: "/allocating", InFlight: 10}, gogc: 800, rows: []string{
		alone, plain, ferryPool, ferryGate, onePool, niceWorker, idleWorker,
	}},
	{name: foreignLoops, jobs: openloop.Closed{Path: "/allocating", InFlight: 10}, loops: 2, rows: []string{
		plain, ferryPool, ferryGate, onePool, niceWorker, idleWorker,
	}},
	{name: shortAndLong, jobs: openloop.Closed{Path: "/long", InFlight: 6}, short: 50, twice: true, rows: []string{
		plain, semaphores, ferryPool, onePool,
	}},
	{name: neverYields, jobs: openloop.Closed{Path: "/tight", InFlight: 6}, short: 50, twice: true, rows: []string{
		plain, ferryPool, onePool,
	}},
	{name: throughNode, jobs: openloop.Closed{InFlight: 10}, twice: true, rows: []string{
		alone, plain, ferryPool, onePool, niceWorker,
	}},
}

// row is a contender that is measured.
type row struct {
	name    string
	kind    harness.Kind
	flags   []string // of this program as a server
	example []string // flags of examples/cpuserver, which is the row's server in the cases that it can serve
	jobs    string   // examples/cpuserver's path of /job
}

var rows = []row{
	{name: alone, kind: harness.Limit, flags: []string{"-scheduling", plainGo}, example: []string{"-mode", "plain"}},
	{name: plain, kind: harness.Peer, flags: []string{"-scheduling", plainGo}, example: []string{"-mode", "plain"}, jobs: "/checksumWithoutCpuWorker"},
	{name: gosched100, kind: harness.Peer, flags: []string{"-scheduling", gosched, "-every", "100us"}},
	{name: gosched1000, kind: harness.Peer, flags: []string{"-scheduling", gosched, "-every", "1ms"}},
	{name: semaphores, kind: harness.Peer, flags: []string{"-scheduling", semaphore}},
	{name: ferryPool, kind: harness.Ferry, flags: []string{"-scheduling", inPool}, example: []string{"-mode", "pool"}, jobs: "/checksumWithCpuWorker"},
	{name: ferryGate, kind: harness.Ferry, flags: []string{"-scheduling", inPool, "-slices=false"}},
	{name: onePool, kind: harness.Ferry, flags: []string{"-scheduling", inPool, "-tokens", oneMore}, example: []string{"-mode", "pool", "-tokens", oneMore}, jobs: "/checksumWithCpuWorker"},
	{name: oneGate, kind: harness.Ferry, flags: []string{"-scheduling", inPool, "-tokens", oneMore, "-slices=false"}},
	{name: niceWorker, kind: harness.Ferry, flags: []string{"-scheduling", inWorker}},
	{name: idleWorker, kind: harness.Ferry, flags: []string{"-scheduling", inWorker, "-idle"}},
}

var oneMore = strconv.Itoa(cpu.Cores() + 1)

func (r row) in(l load) bool { return slices.Contains(l.rows, r.name) }

// start starts the row's server for a load, and returns the path of the load's jobs there.
func (r row) start(dir string, l load) (*process, string, error) {
	if r.example != nil && l.name == checkpointing {
		argv := append([]string{filepath.Join(dir, exampleBinary), "-addr", "127.0.0.1:0"}, r.example...)
		p, err := startServer("", argv...)
		return p, r.jobs, err
	}
	flags := slices.Clone(r.flags)
	if l.gogc > 0 {
		flags = append(flags, "-gogc", strconv.Itoa(l.gogc))
	}
	p, err := startServer(roleServer, flags...)
	return p, l.jobs.Path, err
}

// version returns the version that the report shows for a row.
func (r row) version() string {
	if r.kind == harness.Ferry {
		return "this commit"
	}
	return goVersion
}

// recorded are the figures of hnes/cpuworker, measured earlier on two quiet cores.
var recorded = []harness.Contender{
	{Name: cpuworker, Kind: harness.Seed, Version: "2022, as recorded", Recorded: map[string]harness.Figures{
		checkpointing: {p50: 1.26, p99: 3.8, p999: 5.2, inflation: 1.63, work: 0.52},
		shortAndLong:  {p99: 4.6, short50: 2.3, short99: 14.1, work: 0.48},
		neverYields:   {p99: 4.2, short50: 1825, short99: 3523, work: 0.52},
		cost:          {doNs: 1270, checkpointNs: 0.3},
	}},
	{Name: cpuworker2, Kind: harness.Seed, Version: "2022, as recorded, GOMAXPROCS 4", Recorded: map[string]harness.Figures{
		checkpointing: {p50: 1.42, p99: 5.7, p999: 7.4, inflation: 2.75, work: 0.93},
		shortAndLong:  {p99: 5.4, short50: 2.9, short99: 16.1, work: 0.77},
	}},
}
