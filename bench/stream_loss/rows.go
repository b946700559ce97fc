package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/pubsub"
)

// The load: rate is that of all tags together.
const (
	tags = 8
	size = 1 << 10 // bytes of a message
	rate = 2000    // messages a second
)

// perTag is the number of messages of each tag for a budget of 50 ms. Sending them takes five seconds.
const perTag = 5 * rate / tags

type row struct {
	name    string
	kind    harness.Kind
	version string
	system  pubsub.System
}

// experiment is the state that all measurements of a run share.
type experiment struct {
	dir  string
	rows []row
}

func (e *experiment) prepare(dir string) error {
	e.dir = dir
	return ferrynode.Build(dir)
}

func (e *experiment) checkMove() error {
	f, err := e.cross(e.rows[0], scene{move: true}, 50)
	if err == nil && f[connects] != 1 {
		err = fmt.Errorf("stream_loss: a client connected %v times", f[connects])
	}
	return err
}

func (e *experiment) checkLoss() error {
	for _, r := range e.rows {
		if _, err := e.cross(r, scene{loss: 5}, 25); err != nil {
			return err
		}
	}
	return nil
}

func (e *experiment) contender(r row) harness.Contender {
	return harness.Contender{Name: r.name, Kind: r.kind, Version: r.version, Measure: func(name string, budget time.Duration) (harness.Figures, error) {
		s := scenes[slices.IndexFunc(scenes, func(s scene) bool { return s.name == name })]
		if s.move && r.system != pubsub.FerryQUIC {
			return nil, nil
		}
		return e.cross(r, s, max(10, int(float64(perTag)*float64(budget)/float64(50*time.Millisecond))))
	}}
}

// cross makes a network, and sends n messages of each tag through it.
func (e *experiment) cross(r row, s scene, n int) (harness.Figures, error) {
	net, err := newNetwork(s.loss)
	if err != nil {
		return nil, err
	}
	defer net.close()
	setup := pubsub.Setup{
		System: r.system, Dir: e.dir, Size: size, Tags: tags,
		Host: nodeAddr, NodeNS: net.node, SourceNS: net.client, FunctionNS: net.client,
	}
	if s.move {
		setup.FunctionNS = net.node
	}
	c, err := pubsub.Start(setup)
	if err != nil {
		return nil, err
	}
	moved := make(chan error, 1)
	if s.move {
		half := time.Duration(n*tags) * time.Second / rate / 2
		time.AfterFunc(half, func() { moved <- net.move() })
	} else {
		moved <- nil
	}
	o, err := c.Open(n, rate)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := <-moved; err != nil {
		return nil, err
	}
	f := harness.Figures{
		p50: ms(o.All.P50), p99: ms(o.All.P99), p999: ms(o.All.P999), most: ms(o.All.Max),
		bestTag: math.Inf(1), connects: float64(o.Connects),
	}
	for _, tag := range o.Tags {
		f[bestTag] = min(f[bestTag], ms(tag.P99))
		f[worstTag] = max(f[worstTag], ms(tag.P99))
		f[worst50] = max(f[worst50], ms(tag.P50))
		f[worst999] = max(f[worst999], ms(tag.P999))
	}
	return f, nil
}

// ms converts microseconds.
func ms(us float64) float64 { return us / 1000 }
