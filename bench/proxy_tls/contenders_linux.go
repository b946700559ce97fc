package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/keypair"
	"example.com/ferry/bench/internal/pinned"
	"example.com/ferry/bench/internal/proxytrial"
)

// The cases.
const (
	full    = "full handshakes"
	resumed = "resumed handshakes"
	http1   = "requests, HTTP/1.1"
	http2   = "requests, HTTP/2"
	idle    = "idle connections"
)

type load struct {
	name string
	proxytrial.Load
}

var cases = []load{
	overTLS(full, keepalive.Handshake, 16, 0),
	overTLS(resumed, keepalive.Resumption, 16, 0),
	overTLS(http1, keepalive.HTTP1, 100, 0),
	overTLS(http2, keepalive.HTTP2, 5, 20),
	overTLS(idle, keepalive.HTTP1, firstConns, 0),
}

func overTLS(name string, down keepalive.Wire, conns, streams int) load {
	return load{name, proxytrial.Load{
		Down: down, Up: keepalive.HTTP1, TLS: true, Conns: conns, Streams: streams, Size: 1024, Hops: 1, Proxy: []int{0}, Ends: []int{1},
	}}
}

// The names of rows that other code refers to.
const (
	ferryRow = "ferry"
	nginx    = "nginx"
)

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
	conns      int // idle connections
}

// newExperiment has the rows whose programs are installed.
func newExperiment() *experiment {
	e := &experiment{conns: idleConns}
	e.contenders = []contender{{name: ferryRow, version: "this commit", kind: harness.Ferry, start: e.startFerry}}
	peers, notes := httpproxy.Peers()
	e.notes = notes
	for _, p := range peers {
		if slices.Contains([]string{nginx, "HAProxy", "Envoy", "httputil.ReverseProxy"}, p.Name) {
			e.contenders = append(e.contenders, contender{p.Name, p.Version, harness.Peer, p.Start})
		}
	}
	return e
}

// startFerry starts the shipped binary.
func (e *experiment) startFerry(s httpproxy.Setup) (*pinned.Process, error) {
	ferry := httpproxy.FerryWith(e.dir)
	return ferry.Start(s)
}

// prepare builds ferry and makes the certificate.
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

// open starts a row in a case.
func (e *experiment) open(c contender) func(string) (harness.Session, error) {
	return func(name string) (harness.Session, error) {
		l := cases[slices.IndexFunc(cases, func(l load) bool { return l.name == name })]
		if name == idle {
			return &idleTrial{experiment: e, load: l.Load, start: c.start}, nil
		}
		t, err := proxytrial.Start(l.Load, c.start, e.dir, e.files)
		if err != nil {
			return nil, err
		}
		return operations{t}, nil
	}
}

// operations is a trial whose figures have the names of this question.
type operations struct{ *proxytrial.Trial }

func (o operations) Figures() (harness.Figures, error) {
	f, err := o.Trial.Figures()
	if err != nil {
		return nil, err
	}
	f[unit], f[perSecond] = f[proxytrial.PerRequest], f[proxytrial.QPS]
	delete(f, proxytrial.PerRequest)
	delete(f, proxytrial.QPS)
	return f, nil
}

// checkResponses runs every row briefly in every case: no failure, and responses.
func (e *experiment) checkResponses() error {
	few := *e
	few.conns = 100
	for _, c := range e.contenders {
		for _, l := range cases {
			if err := check(few.open(c), l.name); err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, l.name, err)
			}
		}
	}
	return nil
}

func check(open func(string) (harness.Session, error), name string) error {
	t, err := open(name)
	if err != nil {
		return err
	}
	defer t.Close()
	if o, ok := t.(operations); ok {
		return o.Check(50 * time.Millisecond)
	}
	if err := t.Run(0); err != nil { // idle connections
		return err
	}
	f, err := t.Figures()
	if err == nil && f[proxytrial.Failures] > 0 {
		err = fmt.Errorf("%v failures", f[proxytrial.Failures])
	}
	return err
}
