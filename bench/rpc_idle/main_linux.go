// Rpc_idle measures how much memory of a server an idle client takes.
package main

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/rpcload"
)

func main() {
	rpcload.Main(rpcload.IdleSystems())
	harness.Main(newExperiment(10_000).question())
}

// The figures, of the server's process.
const (
	perConn = "bytes/connection"
	perCall = "bytes/call in flight"
	total   = "anonymous MiB in all"
)

// experiment is the state that all measurements of a run share.
type experiment struct {
	conns   int
	systems []rpcload.System
	dir     string
}

func newExperiment(conns int) *experiment {
	return &experiment{conns: conns, systems: rpcload.IdleSystems()}
}

func (e *experiment) load() string { return fmt.Sprintf("%d connections", e.conns) }

// reserve is the number of descriptors besides those of the connections.
const reserve = 200

func (e *experiment) prepare(dir string) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Max < uint64(e.conns+reserve) {
		return fmt.Errorf("needs %d descriptors a process: raise `ulimit -Hn`, which is %d", e.conns+reserve, limit.Max)
	}
	e.dir = dir
	return rpcload.Prepare(dir)
}

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "rpc_idle",
		Title:  "RPC: idle connections",
		Unit:   perConn,
		Better: harness.Lower,
		About: fmt.Sprintf("%d clients, each with a connection over TCP of its own, have made one call each with the message of rpc_transport and are idle. "+
			"Bytes are by how much the anonymous memory (RssAnon) of the server's process grows with the second half of them, over their number, after a garbage collection that returns unused memory. "+
			"Then half of the clients have a call in flight each, whose handler waits: bytes for each of these calls are by how much the same memory grows. "+
			"What the kernel holds for a connection is not counted.", e.conns),
		Cases:   []string{e.load()},
		Figures: []string{perCall, total},
		Prepare: e.prepare,
		Checks: []harness.Check{{Name: "each row serves 100 connections, and after a pause again", Run: func() error {
			for _, s := range e.systems {
				if _, err := e.measure(s, 100); err != nil {
					return fmt.Errorf("%s: %w", s.Name, err)
				}
			}
			return nil
		}}},
		Goals: []harness.Goal{harness.AtMost(4096, "bytes for each idle connection", func(r *harness.Result) float64 {
			return r.Stat(rpcload.Ferry, e.load(), perConn).Median
		})},
		Notes: []string{"After the memory is measured, each client makes one more call, and a failure ends the run."},
	}
	for _, s := range e.systems {
		q.Contenders = append(q.Contenders, harness.Contender{Name: s.Name, Kind: s.Kind, Version: s.Version, Measure: func(string, time.Duration) (harness.Figures, error) {
			return e.measure(s, e.conns)
		}})
	}
	return q
}

// measure connects clients in two halves.
func (e *experiment) measure(s rpcload.System, conns int) (harness.Figures, error) {
	t, err := rpcload.OpenIdle(s, e.dir)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	var memory [2]int64
	for i := range memory {
		if err := t.Grow(conns / 2); err != nil {
			return nil, err
		}
		if memory[i], err = t.Memory(); err != nil {
			return nil, err
		}
	}
	if err := t.Hold(conns / 2); err != nil {
		return nil, err
	}
	busy, err := t.Memory()
	if err = errors.Join(err, t.Release()); err != nil {
		return nil, err
	}
	if err := t.Call(); err != nil {
		return nil, err
	}
	return harness.Figures{
		perConn: float64(memory[1]-memory[0]) / float64(conns/2),
		perCall: float64(busy-memory[1]) / float64(conns/2),
		total:   float64(memory[1]) / (1 << 20),
	}, nil
}
