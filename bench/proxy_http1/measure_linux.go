package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/pinned"
)

const bodySize = 1024 // bytes

// addresses are where the programs listen.
type addresses struct {
	backend string
	proxies [2]string // addresses of the first proxy, which the client connects to, and of the second proxy
	admins  [2]string // admin servers of the two proxies
}

// shipped are those of ferry's example, and two more.
var shipped = addresses{"127.0.0.1:18090", [2]string{"127.0.0.1:18080", "127.0.0.1:18081"}, [2]string{"127.0.0.1:18095", "127.0.0.1:18096"}}

// experiment is the state that all measurements of a run share.
type experiment struct {
	at         addresses
	contenders []contender
	notes      []string
	dir        string
	example    string // ferry's configuration
	files      string // directory of the files that are transferred
}

func newExperiment(at addresses) *experiment {
	e := &experiment{at: at}
	e.contenders, e.notes = contenders()
	return e
}

// prepare builds ferry and the limit in C.
func (e *experiment) prepare(dir string) error {
	if runtime.NumCPU() < 2 {
		return fmt.Errorf("needs two cores: here is %d", runtime.NumCPU())
	}
	e.dir = dir
	if err := ferrynode.Build(dir); err != nil {
		return err
	}
	var err error
	if e.example, err = httpproxy.Example(keepalive.HTTP1); err != nil {
		return err
	}
	if slices.ContainsFunc(e.contenders, func(c contender) bool { return c.name == cRelayRow }) {
		if err := buildCRelay(dir); err != nil {
			return err
		}
	}
	return e.prepareFiles()
}

// measure lets the programs warm up for a while, and measures for 40 budgets: 2 s. A load with bodies takes 0.6 s.
func (e *experiment) measure(c contender) func(string, time.Duration) (harness.Figures, error) {
	return func(name string, budget time.Duration) (harness.Figures, error) {
		l := loads[slices.IndexFunc(loads, func(l load) bool { return l.name == name })]
		if !c.in(l) {
			return nil, nil
		}
		window := max(40*budget, 100*time.Millisecond)
		if l.body != nil {
			window = max(12*budget, 100*time.Millisecond)
		}
		f, why, err := e.run(c, l, window)
		if err != nil {
			return nil, err
		}
		if l.body != nil {
			fmt.Fprintf(os.Stderr, "proxy_http1: %s, %s: %.1f us, %.1f us/MiB, %.0f MiB/s, CPU %.0f %%, growth %.1f MiB, foreign %.2f %s\n",
				l.name, c.name, f[perRequest], f[perMiB], f[mibps], f[cpu], f[growth], f[foreign], why)
			return f, nil
		}
		fmt.Fprintf(os.Stderr, "proxy_http1: %s, %s: %.1f us, %.0f/s, p50 %.3f ms, p99 %.3f ms, %.1f MiB, foreign %.2f, %.0f failures %s\n",
			l.name, c.name, f[perRequest], f[qps], f[p50], f[p99], f[anonymous], f[foreign], f[failures], why)
		return f, nil
	}
}

// run measures one row in one case; why is the first failure.
func (e *experiment) run(c contender, l load, window time.Duration) (f harness.Figures, why string, err error) {
	backend, _, stop, err := e.startBackend(l)
	if err != nil {
		return nil, "", err
	}
	defer stop()
	proxies, front, err := e.startProxies(c, l)
	defer func() {
		for _, p := range proxies {
			p.Stop()
		}
	}()
	if err != nil {
		return nil, "", err
	}
	idle, _, err := memory(proxies)
	if err != nil {
		return nil, "", err
	}
	client, err := keepalive.StartClient(l.clientSpec(front))
	if err != nil {
		return nil, "", err
	}
	defer client.End()
	warm, err := client.Run(keepalive.Load{Rate: l.rate, Window: window / 4})
	if err != nil {
		return nil, "", err
	}
	var pids []int // read under load: a program may listen before it has all its processes
	for _, p := range proxies {
		pids = append(pids, p.Family()...)
	}
	experiment := slices.Concat(pids, backend.Family(), []int{client.PID()})
	before, err := harness.Used(experiment)
	if err != nil {
		return nil, "", err
	}
	r, err := client.Run(keepalive.Load{Rate: l.rate, Warm: window / 10, Window: window, PIDs: pids})
	if err != nil {
		return nil, "", err
	}
	after, err := harness.Used(experiment)
	if err != nil {
		return nil, "", err
	}
	if f = figures(r); l.body != nil {
		f = bodyFigures(r, l.body)
	}
	_, f[foreign] = before.Until(after)
	for i, p := range proxies {
		if err := e.look(c, p, e.at.admins[i], f); err != nil {
			return nil, "", err
		}
	}
	if l.body != nil {
		_, peak, err := memory(proxies)
		if err != nil {
			return nil, "", err
		}
		f[growth] = float64(peak-idle) / (1 << 20)
	}
	f[failures] += float64(warm.Failures)
	return f, cmp.Or(warm.Failure, r.Failure), nil
}

// startProxies starts the row's proxies, the last hop first, and returns the address for the client.
func (e *experiment) startProxies(c contender, l load) (started []*pinned.Process, front string, err error) {
	front = e.at.backend
	if c.start == nil {
		return nil, front, nil
	}
	for i := l.hops - 1; i >= 0; i-- {
		dir, err := os.MkdirTemp(e.dir, "proxy-")
		if err != nil {
			return started, "", err
		}
		s := httpproxy.Setup{Dir: dir, Cores: l.proxy, Workers: len(l.proxy), Listen: e.at.proxies[i], Upstream: front, Admin: e.at.admins[i]}
		p, err := c.start(e, s)
		if err != nil {
			return started, "", err
		}
		started, front = append([]*pinned.Process{p}, started...), s.Listen
	}
	return started, front, nil
}

// figures returns the figures of the client's report.
func figures(r *keepalive.Report) harness.Figures {
	f := harness.Figures{
		perRequest: 0, cpu: 100 * r.CPU.Seconds() / r.Window.Seconds(),
		qps:  float64(r.Requests) / r.Window.Seconds(),
		mean: ms(r.Times.Mean()), p50: ms(r.Times.Quantile(0.5)), p99: ms(r.Times.Quantile(0.99)), p999: ms(r.Times.Quantile(0.999)),
		failures: float64(r.Failures),
	}
	if r.Requests > 0 {
		f[perRequest] = float64(r.CPU.Microseconds()) / float64(r.Requests)
	}
	if r.Late.N > 0 {
		f[late99] = ms(r.Late.Quantile(0.99))
	}
	return f
}

// look adds the figures of a proxy's memory and goroutines. It runs while all connections are open.
func (e *experiment) look(c contender, p *pinned.Process, admin string, f harness.Figures) error {
	m, err := p.Memory()
	if err != nil {
		return err
	}
	f[anonymous] += float64(m.Anon) / (1 << 20)
	if c.goroutines {
		n, err := httpproxy.Goroutines(admin)
		if err != nil {
			return err
		}
		f[goroutines] += n
	}
	return nil
}

// memory returns the resident memory of processes now, and the sum of the most that each had, in bytes.
func memory(proxies []*pinned.Process) (now, peak int64, err error) {
	for _, p := range proxies {
		m, err := p.Memory()
		if err != nil {
			return 0, 0, err
		}
		now, peak = now+m.RSS, peak+m.Peak
	}
	return now, peak, nil
}

// longestCheck bounds the windows of checkResponses.
const longestCheck = 30 * time.Second

// checkResponses runs every row in every case: no failure, and responses. The window is short at first, and longer where a busy
// machine gives no response in it.
func (e *experiment) checkResponses() error {
	for _, l := range loads {
		for _, c := range e.contenders {
			if !c.in(l) || l.body != nil {
				continue
			}
			l := l
			l.conns, l.rate = 40, 0
			var f harness.Figures
			var why string
			for window := 100 * time.Millisecond; f[failures] == 0 && f[qps] == 0 && window < longestCheck; window *= 4 {
				var err error
				if f, why, err = e.run(c, l, window); err != nil {
					return fmt.Errorf("%s, %s: %w", c.name, l.name, err)
				}
			}
			if f[failures] > 0 || f[qps] == 0 {
				return fmt.Errorf("%s, %s: %v requests a second, %v failures: %s", c.name, l.name, f[qps], f[failures], why)
			}
		}
	}
	return nil
}

// disturbed reports whether the client sent its requests too late.
func disturbed(f harness.Figures) bool { return f[late99] > 0.5 }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
