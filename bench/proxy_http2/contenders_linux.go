package main

import (
	_ "embed" // the limit in C
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/keypair"
	"example.com/ferry/bench/internal/pinned"
	"example.com/ferry/bench/internal/proxytrial"
)

// load is a case.
type load struct {
	name string
	proxytrial.Load
}

// The cases. The names say what differs from the first one.
const (
	oneCore   = "one core"
	twoCores  = "two cores"
	withTLS   = "TLS on both sides"
	toHTTP1   = "to HTTP/1.1"
	fromHTTP1 = "from HTTP/1.1"
	large     = "1 MiB bodies"
	twoHops   = "two hops"
	fixedRate = "2000/s"
)

var loads = []load{
	h2(oneCore, func(*proxytrial.Load) {}),
	h2(twoCores, func(l *proxytrial.Load) { l.Proxy, l.Ends = []int{0, 1}, []int{0, 1} }),
	h2(withTLS, func(l *proxytrial.Load) { l.TLS, l.UpTLS = true, true }),
	h2(toHTTP1, func(l *proxytrial.Load) { l.Up = keepalive.HTTP1 }),
	h2(fromHTTP1, func(l *proxytrial.Load) { l.Down, l.Conns, l.Streams = keepalive.HTTP1, 500, 0 }),
	h2(large, func(l *proxytrial.Load) { l.Size, l.Streams = 1<<20, 2 }),
	h2(twoHops, func(l *proxytrial.Load) { l.Hops = 2 }),
	h2(fixedRate, func(l *proxytrial.Load) { l.Rate = 2000 }),
}

// h2 is the load of h2load -c5 -m100, changed.
func h2(name string, change func(*proxytrial.Load)) load {
	l := proxytrial.Load{
		Down: keepalive.HTTP2, Up: keepalive.HTTP2, Conns: 5, Streams: 100, Size: 1024, Hops: 1, Proxy: []int{0}, Ends: []int{1},
	}
	change(&l)
	return load{name, l}
}

// The names of rows that other code refers to.
const (
	ferryRow = "ferry"
	haproxy  = "HAProxy"
	envoyRow = "Envoy"
	mosn     = "MOSN, as recorded"
	limitC   = "relay in C"
)

// contender is a row that is measured.
type contender struct {
	name, version string
	kind          harness.Kind
	in            func(l load) bool
	start         proxytrial.Starter // nil: nothing is between client and backend
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
	e.contenders = []contender{{name: ferryRow, version: "this commit", kind: harness.Ferry, in: func(load) bool { return true }, start: e.startFerry}}
	peers, notes := httpproxy.Peers()
	e.notes = notes
	for _, p := range peers {
		c := contender{name: p.Name, version: p.Version, kind: harness.Peer, start: p.Start, in: func(l load) bool {
			return p.Supports(l.Setup(0, keypair.Files{Cert: "any"})) && p.Supports(l.Setup(l.Hops-1, keypair.Files{Cert: "any"}))
		}}
		if slices.ContainsFunc(loads, c.in) {
			e.contenders = append(e.contenders, c)
		}
	}
	if _, err := exec.LookPath("gcc"); err == nil {
		e.contenders = append(e.contenders, contender{name: limitC, version: "gcc -O2", kind: harness.Limit, start: e.startRelay, in: func(l load) bool {
			return l.Down == l.Up && !l.TLS
		}})
	} else {
		e.notes = append(e.notes, "The relay in C has no row: gcc is not installed.")
	}
	e.contenders = append(e.contenders, contender{name: "direct", version: "no proxy", kind: harness.Limit, in: func(l load) bool {
		return l.Down == l.Up && l.Hops == 1
	}})
	return e
}

// prepare builds ferry and the limit in C, and makes the certificate.
func (e *experiment) prepare(dir string) (err error) {
	if runtime.NumCPU() < 2 {
		return fmt.Errorf("needs two cores: here is %d", runtime.NumCPU())
	}
	e.dir = dir
	if e.files, err = keypair.Write(dir); err != nil {
		return err
	}
	if err := ferrynode.Build(dir); err != nil {
		return err
	}
	if slices.ContainsFunc(e.contenders, func(c contender) bool { return c.name == limitC }) {
		return buildRelay(dir)
	}
	return nil
}

// startFerry starts the shipped binary.
func (e *experiment) startFerry(s httpproxy.Setup) (*pinned.Process, error) {
	ferry := httpproxy.FerryWith(e.dir)
	return ferry.Start(s)
}

//go:embed relay/relay.c
var relaySource []byte

const relayBinary = "relay-h2"

func buildRelay(dir string) error {
	source := filepath.Join(dir, "relay.c")
	if err := os.WriteFile(source, relaySource, 0o600); err != nil {
		return err
	}
	out, err := exec.Command("gcc", "-O2", "-pthread", "-o", filepath.Join(dir, relayBinary), source).CombinedOutput()
	if err != nil {
		return fmt.Errorf("gcc: %w: %s", err, out)
	}
	return nil
}

func (e *experiment) startRelay(s httpproxy.Setup) (*pinned.Process, error) {
	return httpproxy.Launch(s, filepath.Join(e.dir, relayBinary), strconv.Itoa(s.Workers), s.Port(), s.UpstreamPort())
}

// open starts a row in a case.
func (e *experiment) open(c contender) func(string) (harness.Session, error) {
	return func(name string) (harness.Session, error) {
		l := loads[slices.IndexFunc(loads, func(l load) bool { return l.name == name })]
		if !c.in(l) {
			return nil, nil
		}
		return proxytrial.Open(l.Load, c.start, e.dir, e.files)
	}
}

// checkResponses runs every row briefly in every case: no failure, and responses.
func (e *experiment) checkResponses() error {
	for _, l := range loads {
		for _, c := range e.contenders {
			if !c.in(l) {
				continue
			}
			short := l.Load
			short.Rate, short.Conns, short.Warm = 0, min(l.Conns, 40), 20*time.Millisecond
			if err := e.check(c, short); err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, l.name, err)
			}
		}
	}
	return nil
}

func (e *experiment) check(c contender, l proxytrial.Load) error {
	t, err := proxytrial.Start(l, c.start, e.dir, e.files)
	if err != nil {
		return err
	}
	defer t.Close()
	return t.Check(50 * time.Millisecond)
}
