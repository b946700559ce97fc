package main

import (
	"slices"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/pinned"
)

// load is a case: a number of connections, spread over proxy processes that share a port.
type load struct {
	name      string
	conns     int
	processes int
}

var loads = []load{{"15,000", 15_000, 1}, {"100,000 over seven", 100_000, 7}}

// The names of rows that goals refer to.
const (
	ferryHTTP1 = "ferry, HTTP/1.1"
	ferryBolt  = "ferry, Bolt"
	nginx      = "nginx, HTTP/1.1"
	haproxy    = "HAProxy, HTTP/1.1"
)

// row is a contender that is measured.
type row struct {
	name, version string
	kind          harness.Kind
	wire          keepalive.Wire
	goroutines    bool     // it reports the number of goroutines
	workers       bool     // the program shares the port among its own workers, and runs as one process
	lines         []string // lines that are added to ferry's example
	peer          httpproxy.Program
}

// in reports whether the row is measured in a case. The largest case has only the rows with goals and the best peers.
func (r row) in(l load) bool {
	return l.processes == 1 || slices.Contains([]string{ferryHTTP1, ferryBolt, nginx, haproxy}, r.name)
}

// rows returns the rows whose programs are installed, and a note about each missing program.
func rows() (all []row, notes []string) {
	const twin = "goroutines: true"
	ferry := func(name string, w keepalive.Wire, lines ...string) {
		all = append(all, row{name: name, version: "this commit", kind: harness.Ferry, wire: w, goroutines: true, lines: lines})
	}
	ferry(ferryHTTP1, keepalive.HTTP1)
	ferry(ferryBolt, keepalive.Bolt)
	ferry("ferry, HTTP/1.1, goroutines", keepalive.HTTP1, twin)
	ferry("ferry, Bolt, goroutines", keepalive.Bolt, twin)
	peers, notes := httpproxy.Peers()
	for _, p := range peers {
		if !slices.Contains([]string{"nginx", "HAProxy", "Envoy"}, p.Name) {
			continue
		}
		all = append(all, row{
			name: p.Name + ", HTTP/1.1", version: p.Version, kind: harness.Peer, wire: keepalive.HTTP1,
			workers: p.Name == "nginx", peer: p,
		})
	}
	return all, notes
}

// start starts the row's proxy, as many processes as the case asks for. On an error it also returns the processes that were started.
func (e *experiment) start(r row, l load) (started []*pinned.Process, admins []string, err error) {
	program := r.peer
	if r.kind == harness.Ferry {
		lines := r.lines
		if l.processes > 1 {
			lines = append(lines, "reuse_port: true")
		}
		config := e.examples[r.wire]
		if len(lines) > 0 {
			config = httpproxy.With(config, lines...)
		}
		program = httpproxy.Ferry(e.dir, config)
	}
	workers, processes := 1, l.processes
	if r.workers {
		workers, processes = l.processes, 1
	}
	for i := range processes {
		s, err := e.setup(workers, i)
		if err != nil {
			return started, nil, err
		}
		run := program.Join
		if i == 0 {
			run = program.Start
		}
		p, err := run(s)
		if err != nil {
			return started, nil, err
		}
		started = append(started, p)
		if r.goroutines {
			admins = append(admins, s.Admin)
		}
	}
	return started, admins, nil
}
