package rpcload

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"example.com/ferry/bench/internal/keepalive"
)

// A process of this program that finds its Spec in the environment is a client or a server, not the benchmark.
const (
	specVariable    = "FERRY_BENCH_RPC"
	profileVariable = "FERRY_BENCH_PROFILE" // a directory: each process writes a CPU profile of its whole run there
)

// The roles.
const (
	clientRole = "client"
	serverRole = "server"
)

// order is a line on a process's standard input.
type order struct {
	Do   string
	Time time.Duration // of callFor
	More int           // of connectMore
}

// What an order asks for.
const (
	callFor     = "call"      // of a client: keep all workers busy
	connectMore = "connect"   // of the clients of Idle
	callEach    = "call each" // of the clients of Idle
	settle      = "settle"    // of any process: collect garbage, and return unused memory
)

// report is a line on standard output: the first one says that the process is ready, each further one is the result of an order.
type report struct {
	Err      string
	Addr     string // of a server, in the first line
	Elapsed  time.Duration
	Calls    int // that were begun
	Failures int
	Failure  string // the first one
	Latency  keepalive.Histogram
	Longest  time.Duration
	Shortest time.Duration
	Bytes    int64 // that crossed the counted transport so far, both ways
}

// Main runs a client or a server if this process was started as one, and does not return then. A benchmark's main and the TestMain
// of its tests must call Main first.
func Main(systems []System) {
	text, ok := os.LookupEnv(specVariable)
	if !ok {
		return
	}
	if err := play(text, systems); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// play executes orders until standard input ends.
func play(text string, systems []System) error {
	var s Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return fmt.Errorf("rpcload: %s: %w", specVariable, err)
	}
	stop, err := profile(s)
	if err != nil {
		return err
	}
	defer stop()
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	do, ready, err := begin(s, systems)
	if err != nil {
		return fmt.Errorf("rpcload: %s of %s: %w", s.Role, s.System, err)
	}
	if err := out.Encode(ready); err != nil {
		return err
	}
	for {
		var o order
		if in.Decode(&o) != nil {
			return nil // the benchmark has ended
		}
		var r report
		if o.Do == settle {
			debug.FreeOSMemory()
		} else {
			r = do(o)
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
}

// profile starts a CPU profile if the environment names a directory.
func profile(s Spec) (stop func(), err error) {
	dir := os.Getenv(profileVariable)
	if dir == "" {
		return func() {}, nil
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%s-%d.prof", s.System, s.Role, os.Getpid())))
	if err != nil {
		return nil, err
	}
	return pprof.StopCPUProfile, pprof.StartCPUProfile(f)
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
		return func(o order) report { return report{Err: "a server does not " + o.Do} }, first, err
	case idleRole:
		return (&crowd{spec: s, system: system}).execute, first, nil
	default:
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c, err := system.Dial(ctx, s)
		return func(o order) report { return load(c, s.Workers, o.Time) }, first, err
	}
}

// load keeps every worker busy for a time: each makes one call after the other.
func load(c Client, workers int, d time.Duration) report {
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
