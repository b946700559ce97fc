// Proxy_grpc measures what it costs to forward gRPC between a client and a server that are grpc-go.
package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/grpcload"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/keypair"
	"example.com/ferry/bench/internal/pinned"
	"example.com/ferry/bench/internal/proxytrial"
)

func main() {
	keepalive.Main(grpcload.Protocols()...)
	httpproxy.Main()
	harness.Main(newExperiment().question())
}

// The cases.
const (
	unary = "unary"
	bidi  = "bidirectional"
)

var cases = []string{unary, bidi}

func load(name string) proxytrial.Load {
	wire := keepalive.GRPC
	if name == bidi {
		wire = keepalive.GRPCStream
	}
	return proxytrial.Load{Down: wire, Up: wire, Conns: 5, Streams: 20, Size: 1024, Hops: 1, Proxy: []int{0}, Ends: []int{1}}
}

const (
	ferryRow = "ferry"
	envoyRow = "Envoy"
)

// contender is a row that is measured.
type contender struct {
	name, version string
	kind          harness.Kind
	start         proxytrial.Starter // nil: nothing is between client and server
}

// experiment is the state that all measurements of a run share.
type experiment struct {
	contenders []contender
	notes      []string
	dir        string
}

// newExperiment has the rows whose programs are installed.
func newExperiment() *experiment {
	e := new(experiment)
	e.contenders = []contender{{ferryRow, "this commit", harness.Ferry, e.startFerry}}
	peers, notes := httpproxy.Peers()
	e.notes = notes
	for _, p := range peers {
		if p.Supports(load(unary).Setup(0, keypair.Files{})) {
			e.contenders = append(e.contenders, contender{p.Name, p.Version, harness.Peer, p.Start})
		}
	}
	e.contenders = append(e.contenders, contender{name: "direct", version: "no proxy", kind: harness.Limit})
	return e
}

// startFerry starts the shipped binary.
func (e *experiment) startFerry(s httpproxy.Setup) (*pinned.Process, error) {
	ferry := httpproxy.FerryWith(e.dir)
	return ferry.Start(s)
}

func (e *experiment) prepare(dir string) error {
	if runtime.NumCPU() < 2 {
		return fmt.Errorf("needs two cores: here is %d", runtime.NumCPU())
	}
	e.dir = dir
	return ferrynode.Build(dir)
}

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "proxy_grpc",
		Title:  "Forwarding gRPC",
		Unit:   proxytrial.PerRequest,
		Better: harness.Lower,
		About: "Client and server are grpc-go, over HTTP/2 in cleartext. The client has 5 connections with 20 calls in flight on each. Unary: a call with a message of 1 KiB, and the same message back. " +
			"Bidirectional: 100 streams that stay open; each sends a message of 1 KiB when the one before has come back, and a request is one message and its response. " +
			"CPU time is the proxy's own, user and system, by the kernel's account. The proxy has core 0 to itself; client and server share core 1. The client compares each response with its request.",
		Figures: proxytrial.Figures,
		Prepare: e.prepare,
		Checks:  []harness.Check{{Name: "each row forwards calls and messages in streams, and every response is the request's own", Run: e.checkResponses}},
		Goals:   goals(),
		Notes: append([]string{
			"ferry is `ferry run` with the settings of examples/proxy/http2.yaml, and HTTP/2 to the server.",
			"grpc-go at both ends fills core 1, so no row fills core 0, and each reads few frames at once: compare CPU time, not requests a second.",
			"nginx forwards with grpc_pass, which opens a connection to the server for each call in flight.",
			"Direct has no proxy, and so uses no CPU time for one: its other figures are what client and server can do.",
		}, e.notes...),
	}
	q.Cases = cases
	for _, c := range e.contenders {
		q.Contenders = append(q.Contenders, harness.Contender{Name: c.name, Kind: c.kind, Version: c.version, Open: func(name string) (harness.Session, error) {
			return proxytrial.Open(load(name), c.start, e.dir, keypair.Files{})
		}})
	}
	return q
}

// checkResponses runs every row briefly in every case: no failure, and responses.
func (e *experiment) checkResponses() error {
	for _, c := range e.contenders {
		for _, name := range cases {
			if err := e.check(c, name); err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, name, err)
			}
		}
	}
	return nil
}

func (e *experiment) check(c contender, name string) error {
	l := load(name)
	l.Warm = 20 * time.Millisecond
	t, err := proxytrial.Start(l, c.start, e.dir, keypair.Files{})
	if err != nil {
		return err
	}
	defer t.Close()
	return t.Check(50 * time.Millisecond)
}

func goals() []harness.Goal {
	var all []harness.Goal
	for _, name := range cases {
		all = append(all, harness.AtMost(0.6, name+": CPU time, times Envoy's", func(r *harness.Result) float64 {
			return r.Ratio(ferryRow, envoyRow, name, proxytrial.PerRequest)
		}))
	}
	return append(all, harness.AtMost(0, "failures, of all cases", func(r *harness.Result) float64 {
		return slices.Max([]float64{r.Stat(ferryRow, unary, proxytrial.Failures).Max, r.Stat(ferryRow, bidi, proxytrial.Failures).Max})
	}))
}
