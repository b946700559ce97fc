package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"example.com/ferry/bench/internal/attacker"
	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/keypair"
	"example.com/ferry/bench/internal/pinned"
	"example.com/ferry/bench/internal/proxytrial"
)

const ferryRow = "ferry"

// contender is a row that is measured.
type contender struct {
	name, version string
	kind          harness.Kind
	start         proxytrial.Starter
}

// experiment is the state that all measurements of a run share.
type experiment struct {
	contenders []contender
	notes      []string
	dir        string
	files      keypair.Files
}

// newExperiment has the rows whose programs are installed.
func newExperiment() *experiment {
	e := new(experiment)
	e.contenders = []contender{{ferryRow, "this commit", harness.Ferry, e.startFerry}}
	peers, notes := httpproxy.Peers()
	e.notes = notes
	names := map[string]string{"nginx": "nginx", "HAProxy": "HAProxy", "Envoy": "Envoy", "httputil.ReverseProxy": "Go net/http"}
	for _, p := range peers {
		if name, ok := names[p.Name]; ok {
			e.contenders = append(e.contenders, contender{name, p.Version, harness.Peer, p.Start})
		}
	}
	return e
}

// startFerry starts the shipped binary.
func (e *experiment) startFerry(s httpproxy.Setup) (*pinned.Process, error) {
	ferry := httpproxy.FerryWith(e.dir)
	return ferry.Start(s)
}

func (e *experiment) prepare(dir string) (err error) {
	if runtime.NumCPU() < 2 {
		return fmt.Errorf("needs two cores: here is %d", runtime.NumCPU())
	}
	e.dir = dir
	if e.files, err = keypair.Write(dir); err != nil {
		return err
	}
	return ferrynode.Build(dir)
}

const (
	honestRate   = 1000   // requests a second
	noService    = 15_000 // ms: the client's patience, as the figure of a proxy that does not respond any more
	attackerFrom = "127.0.0.2"
)

// measure lets the attack go on for 40 budgets: 2 s.
func (e *experiment) measure(c contender) func(string, time.Duration) (harness.Figures, error) {
	return func(name string, budget time.Duration) (harness.Figures, error) {
		f, why, err := e.run(c, name, max(40*budget, 200*time.Millisecond))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "attack: %s, %s: p99 %.2f ms, growth %.1f MiB, CPU %.0f %%, %.0f operations/s, %.0f closed/s, %.0f failures %s\n",
			name, c.name, f[p99], f[growth], f[cpu], f[operations], f[closed], f[failures], why)
		return f, nil
	}
}

// run measures one row during one attack. why is the text of the first failure.
func (e *experiment) run(c contender, name string, window time.Duration) (f harness.Figures, why string, err error) {
	l := proxytrial.Load{
		Down: keepalive.HTTP2, Up: keepalive.HTTP1, TLS: name == string(attacker.SlowHandshakes),
		Conns: 10, Streams: 20, Size: 1024, Hops: 1, Rate: honestRate, Proxy: []int{0}, Ends: []int{1},
	}
	t, err := proxytrial.Start(l, c.start, e.dir, e.files)
	if err != nil {
		return nil, "", err
	}
	defer t.Close()
	before, err := t.Anonymous()
	if err != nil {
		return nil, "", err
	}
	var enemy *pinned.Process
	if name != noAttack {
		if enemy, err = attacker.Start(l.Ends, attacker.Spec{Kind: attacker.Kind(name), Addr: t.Addr(), From: attackerFrom}); err != nil {
			return nil, "", err
		}
		defer enemy.Stop()
		if err := attacker.WaitOpened(enemy, patience); err != nil {
			return nil, "", err
		}
	}
	m := watchMemory(t)
	start := time.Now()
	err = t.Run(window)
	wall := time.Since(start)
	most, errMemory := m.end()
	if errMemory != nil {
		return nil, "", errMemory
	}
	if err != nil && enemy != nil { // the proxy does not serve honest clients any more
		return harness.Figures{p99: noService, p50: noService, failures: honestRate * window.Seconds(), growth: max(0, most-before) / (1 << 20), opened: 1}, err.Error(), nil
	}
	if err != nil {
		return nil, "", err
	}
	figures, err := t.Figures()
	if err != nil {
		return nil, "", err
	}
	f = harness.Figures{
		p99: figures[proxytrial.P99], p50: figures[proxytrial.P50], cpu: figures[proxytrial.CPU], failures: figures[proxytrial.Failures],
		late99: figures[proxytrial.Late99], growth: max(0, most-before) / (1 << 20),
	}
	if enemy != nil {
		count, err := attacker.Counted(enemy)
		if err != nil {
			return nil, "", err
		}
		seconds := wall.Seconds()
		f[operations], f[opened], f[closed] = float64(count.Operations)/seconds, float64(count.Opened)/seconds, float64(count.Closed)/seconds
	}
	return f, t.FirstFailure(), nil
}

const patience = time.Minute

// memoryWatch reads the memory of a proxy again and again.
type memoryWatch struct {
	stop chan struct{}
	done sync.WaitGroup
	most float64
	err  error
}

func watchMemory(t *proxytrial.Trial) *memoryWatch {
	m := &memoryWatch{stop: make(chan struct{})}
	m.done.Go(func() {
		for {
			now, err := t.Anonymous()
			m.most, m.err = max(m.most, now), err
			select {
			case <-m.stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			if m.err != nil {
				return
			}
		}
	})
	return m
}

// end returns the largest memory, in bytes.
func (m *memoryWatch) end() (float64, error) {
	close(m.stop)
	m.done.Wait()
	return m.most, m.err
}

// checkAttacks runs every row briefly during every attack: honest requests get responses, and the attacker connects. Failures
// are a figure, and no fault of the benchmark.
func (e *experiment) checkAttacks() error {
	for _, c := range e.contenders {
		for _, name := range cases() {
			f, why, err := e.run(c, name, 100*time.Millisecond)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, name, err)
			}
			if f[p50] == 0 || name != noAttack && f[opened] == 0 {
				return fmt.Errorf("%s, %s: p50 %v ms, %v connections of the attacker: %s", c.name, name, f[p50], f[opened], why)
			}
			if name == noAttack && f[failures] > 0 {
				return fmt.Errorf("%s, without an attack: %v failures: %s", c.name, f[failures], why)
			}
		}
	}
	return nil
}
