package main

import (
	"cmp"
	"runtime"
	"slices"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/pubsub"
)

// sizes take between a tenth of a second and two at full speed. A run of less than half a second is repeated.
var sizes = pubsub.Sizes{{Name: "100 B", Bytes: 100, Count: 800_000}, {Name: "1 KiB", Bytes: 1 << 10, Count: 150_000}, {Name: "64 KiB", Bytes: 64 << 10, Count: 4000}}

// row is what is compared.
type row struct {
	name     string
	kind     harness.Kind
	version  string
	system   pubsub.System
	validate string
	relay    string // the row whose rate is a load of this one
	single   bool   // the source calls Send for each message
}

const thisCommit = "this commit"

var rows = []row{
	{relayQUIC, harness.Limit, "quic-go " + harness.Version("github.com/quic-go/quic-go"), pubsub.RelayQUIC, "", relayQUIC, false},
	{relayTCP, harness.Limit, runtime.Version(), pubsub.RelayTCP, "", relayTCP, false},
	{ferryQUIC, harness.Ferry, thisCommit, pubsub.FerryQUIC, "full", relayQUIC, false},
	{ferryTCP, harness.Ferry, thisCommit, pubsub.FerryTCP, "full", relayTCP, false},
	{"ferry tcp, a Send each", harness.Ferry, thisCommit, pubsub.FerryTCP, "full", relayTCP, true},
	{"ferry quic, validate off", harness.Ferry, thisCommit, pubsub.FerryQUIC, "off", relayQUIC, false},
	{"ferry tcp, validate off", harness.Ferry, thisCommit, pubsub.FerryTCP, "off", relayTCP, false},
	{natsCore, harness.Peer, "nats-server " + harness.Version("github.com/nats-io/nats-server/v2") + ", nats.go " + harness.Version("github.com/nats-io/nats.go"), pubsub.NATS, "", relayTCP, false},
}

// yomo uses the middle of each recorded range, in messages a second: 55,000 to 108,000; 29,000; 1,500 to 1,700.
var yomo = harness.Contender{
	Name: "YoMo, as recorded", Kind: harness.Seed, Version: "v1.22.3, one process, recorded on another day",
	Recorded: map[string]harness.Figures{
		"100 B":  {perSecond: 81_500, allocated: 11_100},
		"1 KiB":  {perSecond: 29_000, allocated: 27_000},
		"64 KiB": {perSecond: 1600, allocated: 1_240_000},
	},
}

// experiment is the state that all measurements of a run share.
type experiment struct {
	dir        string
	relayRates map[string]float64 // messages a second of the current round, by row and size
}

func (e *experiment) prepare(dir string) error {
	e.dir = dir
	return ferrynode.Build(dir)
}

// check sends a few messages through each row in each case.
func (e *experiment) check() error {
	for _, r := range rows {
		start := func(s pubsub.Size) (*pubsub.Run, error) { return e.start(r, s) }
		if err := sizes.Check(start, nil); err != nil {
			return err
		}
	}
	return nil
}

func (e *experiment) start(r row, s pubsub.Size) (*pubsub.Run, error) {
	return pubsub.Start(pubsub.Setup{System: r.system, Dir: e.dir, Validate: r.validate, Size: s.Bytes, Single: r.single})
}

func (e *experiment) contender(r row) harness.Contender {
	return harness.Contender{Name: r.name, Kind: r.kind, Version: r.version, Measure: sizes.Measure("stream_e2e", func(s pubsub.Size, budget time.Duration) (harness.Figures, error) {
		return e.measure(r, s, budget)
	})}
}

// middle repeats a run of n messages at full speed, and returns the run with the median rate.
func middle(c *pubsub.Run, n int, while time.Duration) (pubsub.Closed, error) {
	var runs []pubsub.Closed
	for start := time.Now(); len(runs) == 0 || time.Since(start) < while; {
		run, err := c.Closed(n)
		if err != nil {
			return run, err
		}
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(a, b pubsub.Closed) int { return cmp.Compare(a.Rate, b.Rate) })
	return runs[len(runs)/2], nil
}

// full warms the processes up, and returns the figures of a run at full speed.
func full(c *pubsub.Run, s pubsub.Size, budget time.Duration) (pubsub.Closed, error) {
	n := s.Messages(budget)
	if _, err := c.Closed(max(50, n/4)); err != nil {
		return pubsub.Closed{}, err
	}
	return middle(c, n, 10*budget)
}

// relayRate returns the rate of a relay in this round. A comparison of two versions measures no relay before; so relayRate does.
func (e *experiment) relayRate(name string, s pubsub.Size, budget time.Duration) (float64, error) {
	if rate := e.relayRates[name+s.Name]; rate > 0 {
		return rate, nil
	}
	i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
	c, err := e.start(rows[i], s)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	closed, err := full(c, s, budget)
	if err != nil {
		return 0, err
	}
	e.relayRates[name+s.Name] = closed.Rate
	return closed.Rate, nil
}

// measure starts the three processes, warms them up, and sends messages at each load.
func (e *experiment) measure(r row, s pubsub.Size, budget time.Duration) (harness.Figures, error) {
	var relay float64
	if r.name != r.relay {
		var err error
		if relay, err = e.relayRate(r.relay, s, budget); err != nil {
			return nil, err
		}
	}
	c, err := e.start(r, s)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	closed, err := full(c, s, budget)
	if err != nil {
		return nil, err
	}
	f := harness.Figures{
		perSecond: closed.Rate,
		allocated: closed.Alloc.Sum(), sourceAlloc: closed.Alloc.Source, nodeAlloc: closed.Alloc.Node, functAlloc: closed.Alloc.Function,
		sourceCPU: closed.CPU.Source, nodeCPU: closed.CPU.Node, functCPU: closed.CPU.Function,
	}
	if r.name == r.relay {
		relay = closed.Rate
		e.relayRates[r.name+s.Name] = relay
	}
	for _, l := range loads {
		rate := l.part * closed.Rate
		if l.relay {
			rate = l.part * relay
		}
		// Half a second, but enough messages for a p99 and no more than the figures need.
		count := min(max(rate/2, 600), 200_000)
		o, err := c.Open(max(20, int(count*pubsub.Scale(budget))), rate)
		if err != nil {
			return nil, err
		}
		f[l.p50()], f[l.p99()] = o.All.P50, o.All.P99
	}
	return f, nil
}
