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
	PerCall  = "CPU us/call" // of client and server together, user and system
	Server   = "server's part"
	TPS      = "calls/s"
	Mean     = "mean us"
	P50      = "p50 us"
	P90      = "p90 us"
	P99      = "p99 us"
	P999     = "p99.9 us"
	Max      = "max us"
	Min      = "min us"
	Calls    = "calls"
	Failures = "failures"
)

// Figures are the names of the figures besides PerCall.
var Figures = []string{Server, TPS, Mean, P50, P90, P99, P999, Max, Min, Calls, Failures}

const (
	patience = 30 * time.Second // for the start of a process
	warm     = 100 * time.Millisecond
)

// Session is a client and a server. It implements harness.Session.
type Session struct {
	spec           Spec
	client, server *child.Process
	clientCPU      time.Duration
	serverCPU      time.Duration
	sum            report
}

// Open starts a server and a client of a system, and makes calls for a short time.
func Open(s System, spec Spec) (_ *Session, err error) {
	t := &Session{spec: spec}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	spec.System, spec.Role = s.Name, serverRole
	var first report
	if t.server, first, err = start(spec, s.Kind); err != nil {
		return nil, err
	}
	spec.Role, spec.Addr = clientRole, first.Addr
	if t.client, _, err = start(spec, s.Kind); err != nil {
		return nil, err
	}
	if err := t.client.Ask(order{Do: callFor, Time: warm}, new(report), patience); err != nil {
		return nil, err
	}
	return t, nil
}

// Run makes calls for d.
func (t *Session) Run(d time.Duration) error {
	before, err := t.cpu()
	if err != nil {
		return err
	}
	var r report
	if err := t.client.Ask(order{Do: callFor, Time: d}, &r, d+2*callTime); err != nil {
		return err
	}
	after, err := t.cpu()
	if err != nil {
		return err
	}
	t.clientCPU += after[0] - before[0]
	t.serverCPU += after[1] - before[1]
	t.sum.add(&r)
	return nil
}

// cpu returns the CPU time of the client and of the server so far.
func (t *Session) cpu() (all [2]time.Duration, err error) {
	for i, p := range []*child.Process{t.client, t.server} {
		if all[i], err = pinned.CPU([]int{p.PID()}); err != nil {
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
	calls, both := float64(t.sum.Calls), t.clientCPU+t.serverCPU
	return harness.Figures{
		PerCall: us(both) / calls, Server: float64(t.serverCPU) / float64(both), TPS: calls / t.sum.Elapsed.Seconds(),
		Mean: us(t.sum.Latency.Mean()), P50: us(t.sum.Latency.Quantile(0.5)), P90: us(t.sum.Latency.Quantile(0.9)),
		P99: us(t.sum.Latency.Quantile(0.99)), P999: us(t.sum.Latency.Quantile(0.999)),
		Max: us(t.sum.Longest), Min: us(t.sum.Shortest),
		Calls: calls, Failures: float64(t.sum.Failures),
	}, nil
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
	case t.spec.Count && t.sum.Bytes < int64(2*Size*t.sum.Calls):
		return fmt.Errorf("%d calls with %d bytes each way, but %d bytes crossed the transport", t.sum.Calls, Size, t.sum.Bytes)
	}
	return nil
}

// Close ends both processes.
func (t *Session) Close() {
	for _, p := range []*child.Process{t.client, t.server} {
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
