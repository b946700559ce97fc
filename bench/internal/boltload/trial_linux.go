package boltload

import (
	"fmt"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/pinned"
)

// Trial measures one proxy under one load. Client and backend share the second core.
type Trial struct {
	Load Workload
	At   Addresses
	Dir  string   // working directory of the proxy
	Argv []string // command line of the proxy; nil connects the client directly to the backend
	Asks bool     // read metrics from the admin server; only ferry has one

	Warm   time.Duration // time between the first request and the window
	Window time.Duration
}

// Result is the outcome of a Trial.
type Result struct {
	Report
	Memory        pinned.Memory      // memory of the proxy after the load, with all connections open
	Before, After map[string]float64 // ferry's metrics before the load and when Memory was read
}

var loadCores = []int{1}

// Run starts the backend and the proxy, generates the load, and stops both processes.
func (t Trial) Run() (*Result, error) {
	backend, err := StartBackend(loadCores, t.At.Backend)
	if err != nil {
		return nil, err
	}
	defer backend.Stop()
	spec := Spec{
		Addr: t.At.Backend, Conns: t.Load.Conns, InFlight: t.Load.InFlight, Least: t.Load.Least, Most: t.Load.Most,
		Warm: t.Warm, Window: t.Window, Backend: []int{backend.PID()},
	}
	if t.Argv == nil {
		r, err := Measure(loadCores, spec, nil)
		if err != nil {
			return nil, err
		}
		return &Result{Report: *r}, nil
	}
	proxy, err := startProxy(t.Load.Cores, t.Dir, t.At.Proxy, t.Argv)
	if err != nil {
		return nil, err
	}
	defer proxy.Stop()
	spec.Addr, spec.Proxy = t.At.Proxy, []int{proxy.PID()}
	r, err := t.measure(spec, proxy)
	if err != nil {
		return nil, fmt.Errorf("%w\nthe proxy says: %s", err, proxy.Output())
	}
	return r, nil
}

func (t Trial) measure(s Spec, proxy *pinned.Process) (*Result, error) {
	result := new(Result)
	var err error
	if t.Asks {
		if err := proxy.WaitListening(t.At.Admin, patience); err != nil {
			return nil, err
		}
		if result.Before, err = metrics(t.At.Admin); err != nil {
			return nil, err
		}
	}
	report, err := Measure(loadCores, s, func() (err error) {
		if result.Memory, err = proxy.Memory(); err == nil && t.Asks {
			result.After, err = metrics(t.At.Admin)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	result.Report = *report
	return result, nil
}

// startProxy starts the proxy and returns when the proxy listens.
func startProxy(cores []int, dir, addr string, argv []string) (*pinned.Process, error) {
	if err := pinned.Free(addr); err != nil {
		return nil, err
	}
	p, err := pinned.Start(cores, dir, argv...)
	if err != nil {
		return nil, err
	}
	if err := p.WaitListening(addr, patience); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// The names of the figures of a Result. Only ferry has the last three.
const (
	PerRequest = "CPU µs/request"
	PerSecond  = "requests/s"
	Mean       = "mean ms"
	P50        = "p50 ms"
	P95        = "p95 ms"
	P99        = "p99 ms"
	Anonymous  = "memory of its own, MiB"
	Busy       = "CPU %"
	LoadBusy   = "CPU % of client and backend"
	Foreign    = harness.Foreign
	HeapGrowth = "heap growth, MiB"
	Goroutines = "goroutines"
)

// Figures returns the figures by name. Without a proxy, the CPU time is 0 and the memory figures are absent.
func (r *Result) Figures() harness.Figures {
	window := r.Window.Seconds()
	f := harness.Figures{
		PerSecond: float64(r.Requests) / window,
		Mean:      ms(r.Mean), P50: ms(r.P50), P95: ms(r.P95), P99: ms(r.P99),
		Busy: 100 * r.CPU.Seconds() / window, LoadBusy: 100 * r.Load.Seconds() / window, Foreign: r.Foreign,
	}
	if r.Requests > 0 {
		f[PerRequest] = float64(r.CPU) / float64(time.Microsecond) / float64(r.Requests)
	}
	if r.Memory.Anon > 0 {
		f[Anonymous] = MiB(float64(r.Memory.Anon))
	}
	if r.After != nil {
		f[HeapGrowth] = MiB(r.Grown("go_memstats_heap_inuse_bytes"))
		f[Goroutines] = r.After["go_goroutines"]
	}
	return f
}

// Grown returns the increase of one of ferry's metrics during the load.
func (r *Result) Grown(metric string) float64 { return r.After[metric] - r.Before[metric] }

// MiB converts bytes to MiB.
func MiB(bytes float64) float64 { return bytes / (1 << 20) }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
