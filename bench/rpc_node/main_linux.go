// Rpc_node compares calls that pass through a node, which knows who serves a method, with NATS's requests and replies.
package main

import (
	"fmt"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/rpcload"
)

func main() {
	rpcload.Main(rpcload.NodeSystems())
	harness.Main(newExperiment().question())
}

// shape is a case: how many calls are in flight, and the size of request and response.
type shape struct {
	name    string
	callers int
	size    int // bytes
}

var shapes = []shape{
	{"1 in flight, 100 B", 1, 100},
	{"100 in flight, 100 B", 100, 100},
	{"1 in flight, 16 KiB", 1, 16 << 10},
	{"100 in flight, 16 KiB", 100, 16 << 10},
}

// experiment is the state that all measurements of a run share.
type experiment struct {
	trial   rpcload.Trial
	systems []rpcload.System
}

func newExperiment() *experiment {
	return &experiment{rpcload.Trial{Conns: 1}, rpcload.NodeSystems()}
}

func (e *experiment) prepare(dir string) error {
	if err := e.trial.Prepare(dir); err != nil {
		return err
	}
	return rpcload.PrepareNode(dir)
}

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "rpc_node",
		Title:  "RPC: calls through a node",
		Unit:   rpcload.PerCall,
		Better: harness.Lower,
		About: "A client calls a method by name, and a node passes the call to a server that is connected to it: the binary that ferry ships, or a NATS server. Request and response are bytes of the same length; the handler changes one of them, and the client verifies the response. " +
			"Client, server and node are processes of their own on the same two cores, and each end has one TCP connection to the node. CPU time is that of the three processes, user and system, by the kernel's account.",
		Figures: append([]string{rpcload.Node}, rpcload.Figures...),
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "in each row and case every response is right, and ferry's bytes have crossed TCP", Run: e.check},
		},
		Goals: goals(),
		Notes: []string{
			"NATS core is a subscription in a queue group, whose handler responds. Package micro of nats.go adds counters, and subjects by which services are found.",
			"ferry sends the deadline of each call, and cancels calls. With NATS only the caller knows how long it waits.",
		},
	}
	for _, s := range shapes {
		q.Cases = append(q.Cases, s.name)
	}
	for _, s := range e.systems {
		q.Contenders = append(q.Contenders, harness.Contender{Name: s.Name, Kind: s.Kind, Version: s.Version, Open: func(name string) (harness.Session, error) {
			for _, shape := range shapes {
				if shape.name == name {
					return rpcload.Open(s, e.spec(shape))
				}
			}
			return nil, fmt.Errorf("no case %q", name)
		}})
	}
	return q
}

func (e *experiment) spec(s shape) rpcload.Spec {
	spec := e.trial.Spec()
	spec.Workers, spec.Size = s.callers, s.size
	return spec
}

// check makes calls in each row and case. The bytes of ferry's client are counted.
func (e *experiment) check() error {
	for _, s := range e.systems {
		for _, shape := range shapes {
			spec := e.spec(shape)
			spec.Count = s.Counted
			if err := rpcload.Check(s, spec, 20*time.Millisecond); err != nil {
				return fmt.Errorf("%s: %w", shape.name, err)
			}
		}
	}
	return nil
}

func goals() (all []harness.Goal) {
	for _, s := range shapes {
		for _, peer := range []string{rpcload.NATS, rpcload.NATSMicro} {
			for _, g := range []struct {
				figure, text string
				most         float64
			}{{rpcload.PerCall, "CPU time", mostCPU(s)}, {rpcload.P50, "median", 1}, {rpcload.P99, "99th percentile", 1}} {
				all = append(all, harness.AtMost(g.most, fmt.Sprintf("%s: %s, times %s", s.name, g.text, peer), func(r *harness.Result) float64 {
					return r.Ratio(rpcload.Ferry, peer, s.name, g.figure)
				}))
			}
		}
	}
	return all
}

// mostCPU returns how much of a peer's CPU time a call may take.
func mostCPU(s shape) float64 {
	switch {
	case s.size > 1<<10:
		return 0.8
	case s.callers == 1:
		return 0.75
	default:
		return 0.6
	}
}
