package rpcload

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"example.com/ferry/bench/internal/child"
	"example.com/ferry/bench/internal/keepalive"
)

// specVariable has the Spec of a process of this program that is a client or a server, not the benchmark.
const specVariable = "FERRY_BENCH_RPC"

// The roles.
const (
	clientRole = "client"
	serverRole = "server"
	nodeRole   = "node"
)

// order is a line on a process's standard input.
type order struct {
	Do   string
	Time time.Duration // of callFor and paceFor
	Rate float64       // of paceFor: calls a second
	More int           // of connectMore and beginEach
}

// What an order asks for.
const (
	callFor     = "call"      // of a client: keep all workers busy
	paceFor     = "pace"      // of a client: an open loop
	connectMore = "connect"   // of the clients of Idle
	callEach    = "call each" // of the clients of Idle
	beginEach   = "begin"     // of the clients of Idle: call with each of the first clients, and do not wait
	endEach     = "end"       // of the clients of Idle: wait for these calls
	closeGate   = "hold"      // of a server: keep calls in progress
	countHeld   = "count"     // of a server: how many there are
	openGate    = "let go"    // of a server
	settle      = "settle"    // of any process: collect garbage, and return unused memory
)

// report is a line on standard output: the first one says that the process is ready, each further one is the result of an order.
type report struct {
	Err      string
	Addr     string // of a server or a node, in the first line
	Elapsed  time.Duration
	Calls    int // that were begun
	Failures int
	Failure  string // the first one
	Latency  keepalive.Histogram
	Longest  time.Duration
	Shortest time.Duration
	Bytes    int64 // that crossed the counted transport so far, both ways
	Paced    paced // of an open loop
}

// Main runs a client or a server if this process was started as one, and does not return then. A benchmark's main and the TestMain
// of its tests must call Main first.
func Main(systems []System) {
	child.Main(specVariable, func(s Spec) string { return s.Role + " of " + s.System }, func(s Spec) (func(order) report, report, error) {
		do, ready, err := begin(s, systems)
		return func(o order) report {
			if o.Do == settle {
				debug.FreeOSMemory()
				return report{}
			}
			return do(o)
		}, ready, err
	})
}

// begin starts a role. It returns the function that executes orders, and the first report.
func begin(s Spec, systems []System) (do func(order) report, first report, err error) {
	i := slices.IndexFunc(systems, func(system System) bool { return system.Name == s.System })
	if i < 0 {
		return nil, first, fmt.Errorf("no system %q", s.System)
	}
	switch system := systems[i]; s.Role {
	case serverRole:
		first.Addr, err = system.Serve(context.Background(), s)
		return operate, first, err
	case nodeRole:
		first.Addr, err = system.Node(context.Background(), s)
		return func(o order) report { return report{Err: "a node does not " + o.Do} }, first, err
	case idleRole:
		return (&crowd{spec: s, system: system}).execute, first, nil
	default:
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c, err := system.Dial(ctx, s)
		return func(o order) report {
			if o.Do == paceFor {
				return pace(c, s.Workers, o.Rate, o.Time)
			}
			return keepBusy(c, s.Workers, o.Time)
		}, first, err
	}
}

// keepBusy keeps every worker busy for a time: each makes one call after the other.
func keepBusy(c Client, workers int, d time.Duration) report {
	each := make([]report, workers)
	start := time.Now()
	var all sync.WaitGroup
	for i := range each {
		all.Go(func() { each[i].work(c, i, start, d) })
	}
	all.Wait()
	total := report{Elapsed: time.Since(start)}
	for i := range each {
		total.add(&each[i])
	}
	if counted, ok := c.(interface{ Bytes() int64 }); ok {
		total.Bytes = counted.Bytes()
	}
	return total
}

// work makes the calls of one worker, at least one.
func (r *report) work(c Client, worker int, start time.Time, d time.Duration) {
	for began := time.Now(); ; {
		err := c.Call(worker)
		ended := time.Now()
		took := ended.Sub(began)
		r.Calls++
		r.Latency.Add(took)
		r.Longest = max(r.Longest, took)
		if r.Shortest == 0 || took < r.Shortest {
			r.Shortest = took
		}
		if err != nil {
			if r.Failures++; r.Failure == "" {
				r.Failure = err.Error()
			}
		}
		if began = ended; ended.Sub(start) >= d {
			return
		}
	}
}

// add adds the calls of another report.
func (r *report) add(other *report) {
	r.Elapsed += other.Elapsed
	r.Calls += other.Calls
	r.Failures += other.Failures
	if r.Failure == "" {
		r.Failure = other.Failure
	}
	r.Latency.Merge(other.Latency)
	r.Longest = max(r.Longest, other.Longest)
	if r.Shortest == 0 || other.Shortest > 0 && other.Shortest < r.Shortest {
		r.Shortest = other.Shortest
	}
	r.Bytes = max(r.Bytes, other.Bytes)
}
