package httpproxy

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/internal/needs"
)

func TestMain(m *testing.M) {
	keepalive.Main()
	Main()
	os.Exit(m.Run())
}

// freeAddrs returns free addresses for a listener, an upstream and an admin server.
func freeAddrs(t *testing.T) (listen, upstream, admin string) {
	t.Helper()
	free, err := keepalive.FreeAddrs(3)
	if err != nil {
		t.Fatal(err)
	}
	return free[0], free[1], free[2]
}

// Each program forwards over keep-alive connections.
func TestPeers(t *testing.T) {
	listen, upstream, admin := freeAddrs(t)
	backend, err := keepalive.StartBackend(nil, keepalive.HTTP1, 1024, upstream)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Stop)
	peers, notes := Peers()
	newer, missing := NewerPeers()
	peers = append(peers, newer...)
	t.Log(notes, missing)
	if len(peers) < 2 {
		t.Errorf("only %d programs: fasthttp and ReverseProxy are always there", len(peers))
	}
	for _, p := range peers {
		t.Run(p.Name, func(t *testing.T) {
			s := Setup{Dir: t.TempDir(), Workers: 2, Listen: listen, Upstream: upstream, Admin: admin}
			process, err := p.Start(s)
			if err != nil {
				t.Fatal(err)
			}
			defer process.Stop()
			client, err := keepalive.StartClient(keepalive.Spec{Wire: keepalive.HTTP1, Addr: s.Listen, Conns: 40, Size: 1024})
			if err != nil {
				t.Fatal(err)
			}
			defer client.End()
			r, err := client.RunUntil(keepalive.Load{Window: 200 * time.Millisecond, PIDs: process.Family()}, 40)
			if err != nil {
				t.Fatal(err)
			}
			if r.Failures != 0 || r.Times.N < 40 || r.CPU <= 0 {
				t.Errorf("%d responses, %v of CPU, %d failures: %s; it says %s", r.Times.N, r.CPU, r.Failures, r.Failure, process.Output())
			}
			if p.Goroutines {
				if n, err := Goroutines(s.Admin); err != nil || n < 40 {
					t.Errorf("%v goroutines, %v; want one for each of 40 connections", n, err)
				}
			}
		})
	}
}

func TestInstalled(t *testing.T) {
	if _, _, err := Installed("no-such-proxy"); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("got %v", err)
	}
	if _, _, err := Installed("true"); err == nil || !strings.Contains(err.Error(), "not which version") {
		t.Errorf("got %v", err)
	}
}

// Several processes share a port.
func TestJoin(t *testing.T) {
	p, err := haproxy()
	if err != nil {
		needs.Missing(t, fmt.Sprintf("HAProxy: %v", err), "make deps")
	}
	listen, upstream, _ := freeAddrs(t)
	s := Setup{Workers: 1, Listen: listen, Upstream: upstream}
	for i := range 3 {
		run := p.Join
		if i == 0 {
			run = p.Start
		}
		s.Dir = t.TempDir()
		process, err := run(s)
		if err != nil {
			t.Fatal(err)
		}
		defer process.Stop()
		if n, err := listeners(s.Port()); err != nil || n != i+1 {
			t.Errorf("%d listeners, %v; want %d", n, err, i+1)
		}
	}
	if _, err := p.Start(s); err == nil || !strings.Contains(err.Error(), s.Listen) {
		t.Errorf("got %v, want that %s is not free", err, s.Listen)
	}
}

// The examples that the benchmarks start contain the addresses to replace, and accept additional lines.
func TestExamples(t *testing.T) {
	for w := range examples {
		config, err := Example(w)
		if err != nil {
			t.Fatal(err)
		}
		config = With(config, "reuse_port: true", "goroutines: true")
		for _, want := range []string{"\nproxy:\n  reuse_port: true\n  goroutines: true\n  listeners:\n", "address: {{.Listen}}\n", "address: {{.Upstream}}\n", "address: {{.Admin}}\n"} {
			if !strings.Contains(config, want) {
				t.Errorf("%s: %q is not in\n%s", w, want, config)
			}
		}
	}
}
