package main

import (
	"errors"
	"fmt"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/pubsub"
)

var sizes = pubsub.Sizes{{Name: "100 B", Bytes: 100, Count: 300_000}, {Name: "1 KiB", Bytes: 1 << 10, Count: 100_000}}

// row is what is compared.
type row struct {
	name    string
	kind    harness.Kind
	system  pubsub.System
	cascade bool
}

var rows = []row{
	{oneTCP, harness.Peer, pubsub.FerryTCP, false},
	{twoTCP, harness.Ferry, pubsub.FerryTCP, true},
	{oneQUIC, harness.Peer, pubsub.FerryQUIC, false},
	{twoQUIC, harness.Ferry, pubsub.FerryQUIC, true},
}

// part is the rate of a measurement, as a part of the rate of one node at full speed.
const part = 0.25

// experiment is the state that all measurements of a run share.
type experiment struct {
	dir   string
	rates map[string]float64 // messages a second of one node at full speed in the current round, by system and size
}

func (e *experiment) prepare(dir string) error {
	e.dir = dir
	return ferrynode.Build(dir)
}

// check sends a few messages through each row in each case.
func (e *experiment) check() error {
	for _, r := range rows {
		start := func(s pubsub.Size) (*pubsub.Run, error) { return e.start(r, s) }
		err := sizes.Check(start, func(c *pubsub.Run) error {
			_, err := e.validated(r, c)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *experiment) start(r row, s pubsub.Size) (*pubsub.Run, error) {
	c, err := pubsub.Start(pubsub.Setup{System: r.system, Dir: e.dir, Size: s.Bytes, Cascade: r.cascade})
	if err == nil && r.cascade {
		if err = c.AwaitLink(); err != nil {
			c.Close()
		}
	}
	return c, err
}

// validated returns how many messages the second node has validated; more than none is an error.
func (e *experiment) validated(r row, c *pubsub.Run) (float64, error) {
	if !r.cascade {
		return 0, nil
	}
	n, err := c.Validated()
	if err == nil && n > 0 {
		err = fmt.Errorf("stream_cascade: the second node has validated %d messages", n)
	}
	return float64(n), err
}

func (e *experiment) contender(r row) harness.Contender {
	return harness.Contender{Name: r.name, Kind: r.kind, Version: "this commit", Measure: sizes.Measure("stream_cascade", func(s pubsub.Size, budget time.Duration) (harness.Figures, error) {
		return e.measure(r, s, budget)
	})}
}

// measure starts the processes, warms them up, and sends messages at the rate of the row.
func (e *experiment) measure(r row, s pubsub.Size, budget time.Duration) (harness.Figures, error) {
	n := s.Messages(budget)
	c, err := e.start(r, s)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := c.Closed(max(50, n/4)); err != nil {
		return nil, err
	}
	full, err := c.Closed(n)
	if err != nil {
		return nil, err
	}
	key := string(r.system) + s.Name
	if !r.cascade {
		e.rates[key] = full.Rate
	} else if err := c.AwaitLink(); err != nil {
		return nil, err
	}
	rate := part * e.rates[key]
	if rate == 0 {
		return nil, errors.New("stream_cascade: the row with one node was not measured in this round")
	}
	count := max(20, int(rate*20*budget.Seconds()))
	spooled, err := spooledBy(r, c)
	if err != nil {
		return nil, err
	}
	firstBefore, secondBefore := c.NodeCPU()
	open, err := c.Open(count, rate)
	if err != nil {
		return nil, err
	}
	first, second := c.NodeCPU()
	each := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / float64(count) }
	f := harness.Figures{firstCPU: each(first - firstBefore), sendRate: rate, p50: open.All.P50, p99: open.All.P99, throughput: full.Rate}
	f[perNode] = f[firstCPU]
	if r.cascade {
		f[secondCPU] = each(second - secondBefore)
		f[perNode] = (f[firstCPU] + f[secondCPU]) / 2
	}
	if now, err := spooledBy(r, c); err != nil || now != spooled {
		return nil, errors.Join(err, fmt.Errorf("stream_cascade: the link has written %d messages to its disk", now-spooled))
	}
	f[validated], err = e.validated(r, c)
	return f, err
}

// spooledBy returns how many messages the link has written to its disk.
func spooledBy(r row, c *pubsub.Run) (uint64, error) {
	if !r.cascade {
		return 0, nil
	}
	return c.Spooled()
}
