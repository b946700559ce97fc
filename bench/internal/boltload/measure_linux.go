package boltload

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"example.com/ferry/bench/internal/openloop"
	"example.com/ferry/bench/internal/pinned"
)

// Spec describes the load.
type Spec struct {
	Addr     string // host:port of the proxy
	Conns    int
	InFlight int // requests in flight on each connection; each response triggers the next request
	Least    int // smallest content in bytes; sizes are spread evenly between the smallest and the largest
	Most     int

	Warm   time.Duration // time between the first request and the window
	Window time.Duration // minimum length of the window; it is extended until twice as many requests were answered as are in flight

	Proxy   []int // PIDs of the proxy; their CPU time and that of their children is reported; empty without a proxy
	Backend []int // PIDs of the backend; their CPU time does not count as foreign
}

// Report holds what the client measured in the window.
type Report struct {
	Requests            int // requests that were answered with the correct content
	All                 int // Requests plus the requests before and after the window
	Window              time.Duration
	CPU                 time.Duration // CPU time of Spec.Proxy
	Load                time.Duration // CPU time of the client and of Spec.Backend
	Foreign             float64       // cores used by programs outside of the experiment, on average
	Mean, P50, P95, P99 time.Duration // latency, from writing the request to the connection until its response was read
}

// A process of this program that finds its role in the environment is the client or the backend.
const variable = "FERRY_BENCH_BOLTLOAD"

const (
	roleClient  = "client"
	roleBackend = "backend"
)

// Main runs the client or the backend if this process was started as one, and does not return then. A benchmark's main and
// the TestMain of its tests must call Main early.
func Main() {
	var err error
	switch role := os.Getenv(variable); role {
	case "":
		return
	case roleClient:
		err = report(os.Args[1])
	case roleBackend:
		err = serve(os.Args[1])
	default:
		err = fmt.Errorf("boltload: no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// report generates the load and writes the report to standard output. It leaves the connections open.
func report(text string) error {
	var s Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return fmt.Errorf("boltload: %w", err)
	}
	r, err := run(s)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return err
	}
	select {} // the connections stay open until Measure ends this process
}

// StartBackend starts the backend, pinned to cores, and returns when the backend listens.
func StartBackend(cores []int, addr string) (*pinned.Process, error) {
	if err := pinned.Free(addr); err != nil {
		return nil, err
	}
	p, err := start(roleBackend, cores, addr)
	if err != nil {
		return nil, err
	}
	if err := p.WaitListening(addr, patience); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// Measure starts a client, pinned to cores, that generates the load. After the load, while the connections are still open,
// Measure calls then, unless it is nil. A wrong or missing response is an error.
func Measure(cores []int, s Spec, then func() error) (*Report, error) {
	if s.Conns < 1 || s.InFlight < 1 || s.Least < 0 || s.Most < s.Least || s.Window <= 0 || s.Warm < 0 {
		return nil, errors.New("boltload: a Spec needs connections, requests in flight, a range of sizes, and a window")
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("boltload: %w", err)
	}
	p, err := start(roleClient, cores, string(text))
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	line, err := p.WaitLine(s.Warm + s.Window + 4*patience)
	if err != nil {
		return nil, err
	}
	r := new(Report)
	if err := json.Unmarshal([]byte(line), r); err != nil {
		return nil, fmt.Errorf("boltload: the client says %q: %w", line, err)
	}
	if then != nil {
		err = then()
	}
	return r, err
}

// start starts this program again, without garbage collection. The new process allocates almost nothing.
func start(role string, cores []int, arg string) (*pinned.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("boltload: %w", err)
	}
	return pinned.Start(cores, "", "env", variable+"="+role, "GOGC=off", self, arg)
}

func (r *Report) summarize(times []time.Duration) {
	r.Requests = len(times)
	if r.Requests == 0 {
		return
	}
	var sum time.Duration
	for _, t := range times {
		sum += t
	}
	sorted := openloop.Sorted(times)
	r.Mean, r.P50, r.P95, r.P99 = sum/time.Duration(len(times)), sorted.Quantile(0.5), sorted.Quantile(0.95), sorted.Quantile(0.99)
}
