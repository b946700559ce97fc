package pubsub

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"example.com/ferry/bench/internal/child"
)

// specVariable has the spec of a process of this program that is the source, the function or a node, not the benchmark.
const specVariable = "FERRY_BENCH_SPEC"

// The roles.
const (
	source   = "source"
	function = "function"
	node     = "node"
)

// spec is the role of a process and its parameters.
type spec struct {
	Role   string
	System System
	Addr   string // host:port; where the node listens
	Dir    string // ferry's data directory; the relay over QUIC has its certificate there
	Size   int    // bytes of a message
	Tags   int
	Single bool // see Setup
}

// request is a line on a process's standard input, reply the response on its standard output.
type request struct {
	Do      string // send, expect, wait or usage
	Count   int    // messages of each tag
	Rate    float64
	Timed   bool
	Timeout time.Duration
}

type reply struct {
	Err      string
	Addr     string    // of a node: the first reply
	Start    time.Time // of send
	Last     time.Time // of wait: when the last message arrived
	Tags     []Latency
	All      Latency
	Sketch   []time.Duration
	Alloc    uint64 // bytes so far
	Connects int
}

// Main runs a source, a function or a relay if this process was started as one, and does not return then. A benchmark's main
// and the TestMain of its tests must call Main first.
func Main() {
	child.Main(specVariable, func(s spec) string { return fmt.Sprintf("%s of %s, %d bytes", s.Role, s.System, s.Size) }, begin)
}

// begin starts a role. It returns the handler of requests, and the first reply, which reports that the process is ready.
func begin(s spec) (func(request) reply, reply, error) {
	handle, first, err := beginRole(s)
	return func(q request) reply {
		r, err := handle(q)
		if err != nil {
			r.Err = err.Error()
		}
		return r
	}, first, err
}

func beginRole(s spec) (handle func(request) (reply, error), first reply, err error) {
	e, ok := ends[s.System]
	if !ok {
		return nil, first, fmt.Errorf("no system %q", s.System)
	}
	switch s.Role {
	case source:
		handle, err = beginSource(s, e)
	case function:
		handle, err = beginFunction(s, e)
	case node:
		first.Addr, err = e.node(s, child.Fail)
		handle = func(request) (reply, error) { return usage(), nil }
	default:
		err = fmt.Errorf("no role %q", s.Role)
	}
	return handle, first, err
}

// patience is the timeout for the start of a node.
const patience = 30 * time.Second

// retry calls connect until the node accepts.
func retry(connect func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := connect(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func beginSource(s spec, e end) (func(request) (reply, error), error) {
	var to publisher
	if err := retry(func(ctx context.Context) (err error) {
		to, err = e.publish(ctx, s)
		return err
	}); err != nil {
		return nil, err
	}
	g, err := newGenerator(to, s.Tags, s.Size)
	if err != nil {
		return nil, err
	}
	return func(q request) (reply, error) {
		if q.Do != "send" {
			r := usage()
			r.Connects = to.connects()
			return r, nil
		}
		start := time.Now()
		if q.Rate > 0 {
			return reply{Start: start}, g.open(q.Count, q.Rate)
		}
		return reply{Start: start}, g.closed(q.Count)
	}, nil
}

func beginFunction(s spec, e end) (func(request) (reply, error), error) {
	cs, err := newCollectors(s.Tags, s.Size)
	if err != nil {
		return nil, err
	}
	take := func(tag int, payload []byte) { cs.tags[tag].take(payload) }
	var connects func() int
	if err := retry(func(ctx context.Context) (err error) {
		connects, err = e.subscribe(ctx, s, take, child.Fail)
		return err
	}); err != nil {
		return nil, err
	}
	return func(q request) (r reply, err error) {
		switch q.Do {
		case "expect":
			cs.expect(q.Count, q.Timed)
		case "wait":
			r.Last, err = cs.wait(q.Timeout)
			if err == nil {
				r.Tags, r.All, r.Sketch = cs.latencies()
			}
		default:
			r = usage()
			r.Connects = connects()
		}
		return r, err
	}, nil
}

func usage() reply {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return reply{Alloc: m.TotalAlloc}
}
