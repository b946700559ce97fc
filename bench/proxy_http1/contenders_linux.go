package main

import (
	"os/exec"
	"runtime"
	"slices"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/pinned"
)

// load is a case: the request rate and the cores.
type load struct {
	name  string
	conns int
	rate  float64 // requests a second; 0: all connections are busy
	hops  int
	proxy []int // cores
	ends  []int // cores of client and backend
	all   bool  // all rows take part, not only ferry, the limits and the peers of goals
	body  *body // what is transferred; nil: 1 KiB in both directions. Only ferry and the peers of goals take part
}

const (
	oneCore   = "one core"
	twoCores  = "two cores"
	sharedOne = "one shared core"
	fixedRate = "2000/s"
	twoHops   = "two hops"
)

var loads = append([]load{
	{name: oneCore, conns: 500, hops: 1, proxy: []int{0}, ends: []int{1}, all: true},
	{name: twoCores, conns: 500, hops: 1, proxy: []int{0, 1}, ends: []int{0, 1}},
	{name: sharedOne, conns: 500, hops: 1, proxy: []int{0, 1}, ends: []int{1}},
	{name: fixedRate, conns: 50, rate: 2000, hops: 1, proxy: []int{0}, ends: []int{1}, all: true},
	{name: twoHops, conns: 500, hops: 2, proxy: []int{0}, ends: []int{1}},
}, bodyLoads()...)

// The names of rows that other code refers to.
const (
	ferryRow  = "ferry"
	cRelayRow = "relay in C"
	directRow = "direct"
)

// goalPeers are the peers that goals compare ferry with.
var goalPeers = []string{"nginx", "HAProxy", httpproxy.NewerNginx, httpproxy.NewerHAProxy}

// contender is a row that is measured.
type contender struct {
	name, version string
	kind          harness.Kind
	goroutines    bool                                                            // it reports the number of goroutines
	start         func(e *experiment, s httpproxy.Setup) (*pinned.Process, error) // nil: nothing is between client and backend
}

// in reports whether the row takes part in a case.
func (c contender) in(l load) bool {
	switch {
	case l.body != nil:
		return c.kind == harness.Ferry || slices.Contains([]string{"nginx", "HAProxy"}, c.name)
	case c.start == nil:
		return l.all
	case c.kind == harness.Peer:
		return l.all || c.name == "Envoy" || slices.Contains(goalPeers, c.name)
	}
	return true
}

// contenders returns the rows whose programs are installed, and a note about each missing program.
func contenders() (all []contender, notes []string) {
	all = []contender{{name: ferryRow, version: "this commit", kind: harness.Ferry, goroutines: true, start: startFerry}}
	peers, notes := httpproxy.Peers()
	newer, missing := httpproxy.NewerPeers()
	notes = append(notes, missing...)
	for _, p := range append(peers, newer...) {
		all = append(all, contender{p.Name, p.Version, harness.Peer, p.Goroutines, func(_ *experiment, s httpproxy.Setup) (*pinned.Process, error) {
			return p.Start(s)
		}})
	}
	all = append(all, contender{name: "relay in Go", version: runtime.Version(), kind: harness.Limit, start: startGoRelay})
	if _, err := exec.LookPath("gcc"); err == nil {
		all = append(all, contender{name: cRelayRow, version: "gcc -O2", kind: harness.Limit, start: startCRelay})
	} else {
		notes = append(notes, "The relay in C has no row: gcc is not installed.")
	}
	if len(bodyLoads()) == 0 {
		notes = append(notes, "Large bodies have no cases: nginx, their backend, is not installed.")
	}
	return append(all, contender{name: directRow, version: "no proxy", kind: harness.Limit}), notes
}

// startFerry starts the shipped binary with its example.
func startFerry(e *experiment, s httpproxy.Setup) (*pinned.Process, error) {
	ferry := httpproxy.Ferry(e.dir, e.example)
	return ferry.Start(s)
}
