package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/routeproxy"
)

// experiment is the state that all measurements of a run share.
type experiment struct {
	counts  []int
	proxies []routeproxy.Proxy
	notes   []string
	dir     string // has the programs' directories
}

// newExperiment has the rows whose programs are installed.
func newExperiment(counts []int) *experiment {
	e := &experiment{counts: counts}
	e.proxies, e.notes = routeproxy.All(filepath.Join("..", ferrynode.Binary))
	e.proxies = slices.DeleteFunc(e.proxies, func(p routeproxy.Proxy) bool { return p.Name == routeproxy.HAProxyACLs })
	return e
}

// prepare also moves this process, which sends the probes, to the core of client and server.
func (e *experiment) prepare(dir string) error {
	if runtime.NumCPU() < 2 {
		return fmt.Errorf("needs two cores: here is %d", runtime.NumCPU())
	}
	e.dir = dir
	if err := ferrynode.Build(dir); err != nil {
		return err
	}
	return keepalive.PinProcess([]int{1})
}

// measure has windows of 20 budgets: a second.
func (e *experiment) measure(p routeproxy.Proxy) func(string, time.Duration) (harness.Figures, error) {
	return func(name string, budget time.Duration) (harness.Figures, error) {
		for _, n := range e.counts {
			if caseName(n) != name {
				continue
			}
			f, err := e.run(p, n, max(20*budget, 100*time.Millisecond))
			if err != nil {
				return nil, fmt.Errorf("reload: %s, %s: %w", p.Name, name, err)
			}
			fmt.Fprintf(os.Stderr, "reload: %s, %s: %.1f ms, CPU %.1f ms, under load %.1f ms, p99 %.0f us, with reloads %.0f us\n",
				p.Name, name, f[settled], f[spent], f[loaded], f[quiet99], f[reload99])
			return f, nil
		}
		return nil, fmt.Errorf("reload: there is no case %s", name)
	}
}

func (e *experiment) run(p routeproxy.Proxy, count int, window time.Duration) (f harness.Figures, err error) {
	t, err := e.start(p, count)
	if err != nil {
		return nil, err
	}
	defer t.stop()
	before, err := harness.Used(t.proxy.Family())
	if err != nil {
		return nil, err
	}
	f = harness.Figures{}
	if f[settled], f[spent], err = t.idleReloads(); err != nil {
		return nil, err
	}
	if err := t.connect(); err != nil { // the proxy may have closed idle connections
		return nil, err
	}
	load := keepalive.Load{Rate: rate, Warm: window / 5, Window: window}
	quiet, err := t.client.Run(load)
	if err != nil {
		return nil, err
	}
	t.prepare(reloads)
	var took time.Duration
	ended := make(chan error, 1)
	go func() {
		time.Sleep(load.Warm)
		var errs error
		for range reloads {
			began := time.Now()
			one, _, err := t.reload(0)
			took, errs = took+one, errors.Join(errs, err)
			time.Sleep(max(rest, window/reloads-time.Since(began)))
		}
		ended <- errs
	}()
	busy, err := t.client.Run(load)
	if err := errors.Join(err, <-ended); err != nil {
		return nil, err
	}
	if quiet.Failures > 0 {
		return nil, fmt.Errorf("%d requests failed without reloads: %s", quiet.Failures, quiet.Failure)
	}
	f[loaded] = ms(took) / reloads
	f[quiet99], f[reload99] = 1000*ms(quiet.Times.Quantile(0.99)), 1000*ms(busy.Times.Quantile(0.99))
	f[failures], f[late99] = float64(busy.Failures), 1000*ms(busy.Late.Quantile(0.99))
	after, err := harness.Used(t.proxy.Family())
	if err != nil {
		return nil, err
	}
	if p.Name == routeproxy.Ferry || p.Name == routeproxy.Envoy { // the others' processes end meanwhile
		_, f[harness.Foreign] = before.Until(after)
	}
	return f, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// checkReloads reloads each row with the least and the largest number of routes.
func (e *experiment) checkReloads() error {
	for _, n := range []int{e.counts[0], e.counts[len(e.counts)-1]} {
		for _, p := range e.proxies {
			if err := e.check(p, n); err != nil {
				return fmt.Errorf("%s, %d routes: %w", p.Name, n, err)
			}
		}
	}
	return nil
}

// check returns an error if a route is wrong after a reload.
func (e *experiment) check(p routeproxy.Proxy, count int) error {
	t, err := e.start(p, count)
	if err != nil {
		return err
	}
	defer t.stop()
	if _, _, err := t.reload(0); err != nil {
		return err
	}
	// Connections from before may be closed.
	if err := t.connect(); err != nil {
		return err
	}
	r, err := t.client.RunUntil(keepalive.Load{Rate: rate, Window: 50 * time.Millisecond}, 50)
	if err != nil {
		return err
	}
	if r.Failures > 0 || r.Requests == 0 {
		return fmt.Errorf("%d requests, %d failures: %s", r.Requests, r.Failures, r.Failure)
	}
	return nil
}
