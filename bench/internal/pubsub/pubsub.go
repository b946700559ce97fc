package pubsub

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/ferry/bench/internal/child"
	"example.com/ferry/bench/internal/ferrynode"
)

// Setup is the system to measure and the messages to send.
type Setup struct {
	System   System
	Dir      string // directory with ferry's binary; each Run has a directory of its own there
	Validate string // validation setting of a ferry node's listener; empty means full, the default
	Size     int    // bytes of a message
	Tags     int    // 0 means 1; at most 10
	Single   bool   // a ferry source sends each message for itself, and not in batches
	Cascade  bool   // a ferry node forwards the messages to a second one, where the function is

	// Host is the node's address in NodeNS; empty means loopback. Empty namespaces mean this one.
	Host                         string
	NodeNS, SourceNS, FunctionNS string
}

// Run is a started source, node and function. Do not call its methods concurrently.
type Run struct {
	setup                  Setup
	dir                    string // what its processes write
	meter                  *meter // of a ferry node in this namespace
	node, source, function *child.Process
	second                 *child.Process // the node behind node, with Setup.Cascade
	secondAdmin            string
}

// port is the node's port in a network namespace of its own.
const port = "4190"

// Start starts the three processes and connects them. Close ends them.
func Start(s Setup) (*Run, error) {
	s.Tags = max(s.Tags, 1)
	c := &Run{setup: s}
	if err := c.start(); err != nil {
		return nil, c.explain(err)
	}
	return c, nil
}

func (c *Run) start() error {
	s := c.setup
	var err error
	if c.dir, err = os.MkdirTemp(s.Dir, "run-"); err != nil {
		return err
	}
	data := filepath.Join(c.dir, "data")
	last := ""
	if s.Cascade {
		if last, err = c.startSecond(); err != nil {
			return err
		}
	}
	addr, err := c.startNode(data, last)
	if err != nil {
		return err
	}
	end := spec{Role: function, System: s.System, Addr: addr, Dir: data, Size: s.Size, Tags: s.Tags, Single: s.Single}
	if s.Cascade {
		end.Addr, end.Dir = last, c.secondData()
	}
	if c.function, err = startEnd(s.FunctionNS, end, new(reply)); err != nil {
		return err
	}
	end.Role, end.Addr, end.Dir = source, addr, data
	c.source, err = startEnd(s.SourceNS, end, new(reply))
	return err
}

// startEnd starts this program again in the role of s, and waits until it is ready.
func startEnd(ns string, s spec, ready *reply) (*child.Process, error) {
	return child.RoleIn(ns, s.Role, specVariable, s, ready, 2*patience)
}

func (c *Run) startNode(data, forwardTo string) (addr string, err error) {
	s := c.setup
	addr = s.Host + ":" + port
	if s.Host == "" {
		if addr, err = ferrynode.FreeAddr(); err != nil {
			return "", err
		}
	}
	if ends[s.System].node != nil {
		var first reply
		c.node, err = startEnd(s.NodeNS, spec{Role: node, System: s.System, Addr: addr, Dir: data}, &first)
		return first.Addr, err
	}
	if s.NodeNS != "" { // its admin server cannot be reached from here: clients retry until the node accepts
		c.node, err = c.startFerry(addr, data, "off", "")
		return addr, err
	}
	admin, err := ferrynode.FreeAddr()
	if err != nil {
		return "", err
	}
	c.meter = &meter{admin: admin}
	if c.node, err = c.startFerry(addr, data, admin, forwardTo); err != nil {
		return "", err
	}
	return addr, ferrynode.WaitReady(admin)
}

// explain ends the processes and adds their output to err.
func (c *Run) explain(err error) error {
	var said strings.Builder
	for _, p := range []*child.Process{c.source, c.function, c.node, c.second} {
		if text := p.End(); text != "" {
			fmt.Fprintf(&said, "\n%s said:\n%s", p.Name, text)
		}
	}
	c.Close()
	return fmt.Errorf("%s, %d bytes: %w%s", c.setup.System, c.setup.Size, err, said.String())
}

// Close ends the processes and removes what they have written.
func (c *Run) Close() {
	for _, p := range []*child.Process{c.source, c.function, c.node, c.second} {
		p.End()
	}
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}

// Cost is the cost of a message in each of the three processes.
type Cost struct{ Source, Node, Function float64 }

// Sum returns the cost of all three processes together.
func (c Cost) Sum() float64 { return c.Source + c.Node + c.Function }

// Closed is the result of sending as fast as the system accepts messages.
type Closed struct {
	Rate  float64 // messages a second, from the first one sent to the last one received
	Alloc Cost    // bytes allocated a message
	CPU   Cost    // microseconds a message
}

// closedTimeout is the timeout of a closed run.
const closedTimeout = time.Minute

// Closed sends n messages of each tag and waits until the function has received and compared all of them.
func (c *Run) Closed(n int) (Closed, error) {
	before, err := c.costs()
	if err != nil {
		return Closed{}, c.explain(err)
	}
	sent, received, err := c.cross(request{Do: "send", Count: n}, closedTimeout)
	if err != nil {
		return Closed{}, c.explain(err)
	}
	after, err := c.costs()
	if err != nil {
		return Closed{}, c.explain(err)
	}
	total := float64(n * c.setup.Tags)
	per := func(unit float64, f func(usages) Cost) Cost {
		a, b := f(after), f(before)
		return Cost{(a.Source - b.Source) / total / unit, (a.Node - b.Node) / total / unit, (a.Function - b.Function) / total / unit}
	}
	return Closed{
		Rate:  total / received.Last.Sub(sent.Start).Seconds(),
		Alloc: per(1, func(u usages) Cost { return u.alloc }),
		CPU:   per(float64(time.Microsecond), func(u usages) Cost { return u.cpu }),
	}, nil
}

// Open is the result of sending at a fixed rate.
type Open struct {
	Tags     []Latency
	All      Latency
	Sketch   []time.Duration // at most 1000 of the latencies of all tags, at equal distances and sorted: those of several Opens make one distribution
	Connects int             // the number of connections of the end that connected more often
}

// Open sends n messages of each tag at a rate in messages a second, all tags together.
func (c *Run) Open(n int, rate float64) (Open, error) {
	long := time.Duration(float64(n*c.setup.Tags)/rate*float64(time.Second)) + closedTimeout
	_, received, err := c.cross(request{Do: "send", Count: n, Rate: rate}, long)
	if err != nil {
		return Open{}, c.explain(err)
	}
	o := Open{Tags: received.Tags, All: received.All, Sketch: received.Sketch}
	for _, p := range []*child.Process{c.source, c.function} {
		var r reply
		if err := p.Ask(request{Do: "usage"}, &r, patience); err != nil {
			return Open{}, c.explain(err)
		}
		o.Connects = max(o.Connects, r.Connects)
	}
	return o, nil
}

// cross sends one batch of messages and waits until the function has received them.
func (c *Run) cross(q request, timeout time.Duration) (sent, received reply, err error) {
	if err = c.function.Ask(request{Do: "expect", Count: q.Count, Timed: q.Rate > 0}, new(reply), patience); err != nil {
		return sent, received, err
	}
	if err = c.source.Ask(q, &sent, timeout); err != nil {
		return sent, received, err
	}
	err = c.function.Ask(request{Do: "wait", Timeout: timeout}, &received, timeout+patience)
	return sent, received, err
}

// usages returns what the processes have used so far: bytes allocated, and nanoseconds of CPU time.
type usages struct{ alloc, cpu Cost }

func (c *Run) costs() (u usages, err error) {
	for _, x := range []struct {
		p          *child.Process
		alloc, cpu *float64
	}{{c.source, &u.alloc.Source, &u.cpu.Source}, {c.function, &u.alloc.Function, &u.cpu.Function}, {c.node, &u.alloc.Node, &u.cpu.Node}} {
		*x.cpu = float64(CPU(x.p.PID()))
		if x.p == c.node && c.meter != nil {
			*x.alloc, err = c.meter.read()
		} else if x.p != c.node || ends[c.setup.System].node != nil {
			var r reply
			err = x.p.Ask(request{Do: "usage"}, &r, patience)
			*x.alloc = float64(r.Alloc)
		}
		if err != nil {
			return u, err
		}
	}
	return u, nil
}
