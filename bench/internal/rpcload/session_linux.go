package rpcload

import (
	"errors"
	"fmt"
	"time"

	"example.com/ferry/bench/internal/child"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/pinned"
)

// The names of the figures.
const (
	PerCall  = "CPU us/call" // of all processes together, user and system
	Server   = "server's part"
	Node     = "node's part"
	TPS      = "calls/s"
	Mean     = "mean us"
	P50      = "p50 us"
	P90      = "p90 us"
	P95      = "p95 us"
	P99      = "p99 us"
	P999     = "p99.9 us"
	Max      = "max us"
	Min      = "min us"
	Calls    = "calls"
	Failures = "failures"
)

// Figures are the names of the figures besides PerCall.
var Figures = []string{Server, TPS, Mean, P50, P90, P95, P99, P999, Max, Min, Calls, Failures}

const (
	patience = 30 * time.Second // for the start of a process
	warm     = 100 * time.Millisecond
)

// Session is a client, a server, and the node between them if there is one. It implements harness.Session.
type Session struct {
	spec      Spec
	processes [kinds]*child.Process // a nil one is not there
	cpu       [kinds]time.Duration
	sum       report
}

// The processes of a Session, in the order in which they end.
const (
	theClient = iota
	theServer
	theNode
	kinds
)

// Open starts a server and a client of a system, and makes calls for a short time.
func Open(s System, spec Spec) (_ *Session, err error) {
	t := &Session{spec: spec}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	spec.System = s.Name
	var first report
	if s.Node != nil {
		spec.Role = nodeRole
		if t.processes[theNode], first, err = start(spec, s.Kind); err != nil {
			return nil, err
		}
		spec.Node = first.Addr
	}
	spec.Role = serverRole
	if t.processes[theServer], first, err = start(spec, s.Kind); err != nil {
		return nil, err
	}
	spec.Role, spec.Addr = clientRole, first.Addr
	if t.processes[theClient], _, err = start(spec, s.Kind); err != nil {
		return nil, err
	}
	if err := t.processes[theClient].Ask(order{Do: callFor, Time: warm}, new(report), patience); err != nil {
		return nil, err
	}
	return t, nil
}

// Run makes calls for d.
func (t *Session) Run(d time.Duration) error {
	before, err := t.used()
	if err != nil {
		return err
	}
	var r report
	if err := t.processes[theClient].Ask(order{Do: callFor, Time: d}, &r, d+2*callTime); err != nil {
		return err
	}
	after, err := t.used()
	if err != nil {
		return err
	}
	for i := range t.cpu {
		t.cpu[i] += after[i] - before[i]
	}
	t.sum.add(&r)
	return nil
}

// used returns the CPU time of each process so far. A node may have started the program that does the work.
func (t *Session) used() (all [kinds]time.Duration, err error) {
	for i, p := range t.processes {
		if p == nil {
			continue
		}
		pids := []int{p.PID()}
		if i == theNode {
			pids = harness.Family(pids[0])
		}
		if all[i], err = pinned.CPU(pids); err != nil {
			return all, err
		}
	}
	return all, nil
}

// Figures returns the figures of all calls since Open.
func (t *Session) Figures() (harness.Figures, error) {
	if t.sum.Calls == 0 {
		return nil, errors.New("rpcload: no calls")
	}
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	var all time.Duration
	for _, used := range t.cpu {
		all += used
	}
	calls := float64(t.sum.Calls)
	f := harness.Figures{
		PerCall: us(all) / calls, Server: float64(t.cpu[theServer]) / float64(all), TPS: calls / t.sum.Elapsed.Seconds(),
		Mean: us(t.sum.Latency.Mean()), P50: us(t.sum.Latency.Quantile(0.5)), P90: us(t.sum.Latency.Quantile(0.9)),
		P95: us(t.sum.Latency.Quantile(0.95)), P99: us(t.sum.Latency.Quantile(0.99)), P999: us(t.sum.Latency.Quantile(0.999)),
		Max: us(t.sum.Longest), Min: us(t.sum.Shortest),
		Calls: calls, Failures: float64(t.sum.Failures),
	}
	if t.processes[theNode] != nil {
		f[Node] = float64(t.cpu[theNode]) / float64(all)
	}
	return f, nil
}

// Check starts a system and makes calls for d. It returns an error if one fails.
func Check(s System, spec Spec, d time.Duration) error {
	t, err := Open(s, spec)
	if err != nil {
		return err
	}
	defer t.Close()
	err = t.Run(d)
	if err == nil {
		err = t.verify()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

// verify returns an error if a call has failed, or if bytes were to be counted and fewer crossed the transport than the messages have.
func (t *Session) verify() error {
	switch {
	case t.sum.Failures > 0:
		return fmt.Errorf("%d of %d calls have failed: %s", t.sum.Failures, t.sum.Calls, t.sum.Failure)
	case t.sum.Calls == 0:
		return errors.New("no calls")
	case t.spec.Count && t.sum.Bytes < int64(2*t.spec.size()*t.sum.Calls):
		return fmt.Errorf("%d calls with %d bytes each way, but %d bytes crossed the transport", t.sum.Calls, t.spec.size(), t.sum.Bytes)
	}
	return nil
}

// Close ends all processes.
func (t *Session) Close() {
	for _, p := range t.processes {
		p.End()
	}
}

// start starts this program again in the role of s, and waits until it is ready.
func start(s Spec, kind harness.Kind) (*child.Process, report, error) {
	var env []string
	if kind == harness.Peer {
		env = append(env, "GORACE=exitcode=0 atexit_sleep_ms=0") // races of peers are their own, and kitex has some
	}
	var first report
	p, err := child.Role(s.Role+" of "+s.System, specVariable, s, &first, patience, env...)
	return p, first, err
}
