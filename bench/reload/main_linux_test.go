package main

import (
	"os"
	"slices"
	"testing"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/routeproxy"
	"example.com/ferry/bench/internal/routeset"
	"example.com/ferry/internal/needs"
)

func TestMain(m *testing.M) {
	keepalive.Main()
	os.Exit(m.Run())
}

// newTest has few routes, and one peer.
func newTest() *experiment {
	e := newExperiment([]int{10, 100})
	e.proxies = slices.DeleteFunc(e.proxies, func(p routeproxy.Proxy) bool { return p.Name != routeproxy.Ferry && p.Name != routeproxy.Nginx })
	return e
}

func TestQuestion(t *testing.T) {
	needs.Cores(t, 2) // one for the proxy and one for the client
	q := newTest().question()
	q.Disturbed = func(harness.Figures) bool { return false }
	harnesstest.Run(t, q)
}

// TestProbe: the probe distinguishes the routes before a reload from those after it.
func TestProbe(t *testing.T) {
	needs.Cores(t, 2)
	e := newTest()
	if err := e.prepare(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	p, err := e.start(e.proxies[0], 10)
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	for version, want := range map[int]string{1: "route-9 /version-1/", 2: notFound} {
		s := routeset.Set{Kind: routeset.HostPrefix, Count: 10, Version: version}
		if got, err := p.get(s.Host(9), s.Prefix(9)); got != want || err != nil {
			t.Errorf("version %d: got %q, %v, want %q", version, got, err, want)
		}
	}
}
