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

// Spec says what load is made.
type Spec struct {
	Addr     string // host:port of the proxy
	Conns    int
	InFlight int // requests on each connection: a response is followed by the next request
	Least    int // bytes of a request's content; each has another size, evenly spread
	Most     int

	Warm   time.Duration // from the first request to the window
	Window time.Duration // longer if not every request in flight was answered in it

	Proxy   []int // the processes whose CPU time is reported, with that of those they started; none where there is no proxy
	Backend []int // processes that belong to the experiment too: their CPU time is not foreign
}

// Report is what the client saw in the window.
type Report struct {
	Requests       int // answered, each with its own content
	All            int // those before and after the window too
	Window         time.Duration
	CPU            time.Duration // of Spec.Proxy
	Load           time.Duration // CPU time of the client and of Spec.Backend
	Foreign        float64       // cores that others used
	Mean, P50, P99 time.Duration // from when a request was handed to its connection until its response was read
}

// A process of this program that finds its role in the environment is the client or the backend.
const variable = "FERRY_BENCH_BOLTLOAD"

const (
	roleClient  = "client"
	roleBackend = "backend"
)

// Main does not return in a process that was started as client or backend. It is among the first things a question's main,
// and TestMain of its tests, calls.
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

// report generates the load, writes the report, and keeps the connections open.
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

// StartBackend starts the backend on some cores, and returns when it listens.
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

// Measure has a client on some cores make the load, and calls then, if not nil, when it is over and the connections are still
// open. A wrong or missing response is an error.
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

// start starts this program again, without garbage collection: it allocates next to nothing.
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
	r.Mean, r.P50, r.P99 = sum/time.Duration(len(times)), sorted.Quantile(0.5), sorted.Quantile(0.99)
}
