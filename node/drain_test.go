package node

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/ferry/node/config"
)

// TestDrainPhases: while drain.delay goes on, /ready fails and everything else works; then the listeners close, and the phases follow
// each other.
func TestDrainPhases(t *testing.T) {
	t.Parallel()
	log := make(lines, 1000)
	cfg := quiet(t)
	cfg.Admin.Address = "127.0.0.1:0"
	cfg.Proxy = inFrontOf(web(t, "a server"))
	cfg.Drain.Delay = time.Hour
	x := extensions()
	x.Log = slog.New(slog.NewTextHandler(log, nil))
	n, err := Build(cfg, x)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan time.Time)
	n.drain.delayed = func(d time.Duration) <-chan time.Time {
		if d != time.Hour {
			t.Errorf("the delay is %v", d)
		}
		return over
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	<-n.Ready()
	expect := func(phase string) {
		t.Helper()
		if _, metrics := get(t, n.Admin()+"metrics"); !strings.Contains(metrics, `ferry_drain_phase{phase="`+phase+`"} 1`) {
			t.Errorf("the phase is not %s", phase)
		}
	}
	expect("serving")

	cancel()
	await := func(parts ...string) {
		t.Helper()
		for {
			select {
			case line := <-log:
				missing := false
				for _, p := range parts {
					missing = missing || !strings.Contains(line, p)
				}
				if !missing {
					return
				}
			case <-time.After(time.Minute):
				t.Fatalf("no log line contains %q", parts)
			}
		}
	}
	await("node draining", "phase=unready", "at_most=1h0m0s")
	if status, _ := get(t, n.Admin()+"ready"); status != http.StatusServiceUnavailable {
		t.Errorf("/ready responds %d", status)
	}
	expect("unready")
	if _, body := get(t, through(t, n)); body != "a server" {
		t.Errorf("the proxy responds %q", body)
	}
	addr := addressOf(t, n, "tcp://127.0.0.1:0")
	c := dialTCP(t, addr, n.id.Token(), nil)
	got := observe(t, c, "a/#")
	send(t, c, "a/1", "while it is not ready")
	if m := next(t, got); string(m.Payload) != "while it is not ready" {
		t.Errorf("got %q", m.Payload)
	}
	if err := n.Apply(changed(n, func(c *config.Config) { c.Names = nil })); err == nil {
		t.Error("a node that ends applies a configuration")
	}

	close(over)
	await("phase=requests", "at_most=1m0s")
	await("phase=functions")
	await("phase=storing")
	await("node stopped")
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Error("the listener is open")
	}
}

// TestDrainDelayEndsEarly: a node that fails does not wait.
func TestDrainDelayEndsEarly(t *testing.T) {
	t.Parallel()
	cfg := quiet(t)
	cfg.Drain.Delay = time.Hour
	n := build(t, cfg)
	waiting := make(chan struct{})
	n.drain.delayed = func(time.Duration) <-chan time.Time { close(waiting); return nil }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	<-n.Ready()
	n.applying.Lock()
	s := n.serving
	n.applying.Unlock()
	cancel()
	<-waiting
	s.stop(context.Canceled)
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
}
