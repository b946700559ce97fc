package main

import (
	"os"
	"slices"
	"strings"
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

// newTest has few routes, and one peer: the check starts each row in each case.
func newTest() *experiment {
	e := newExperiment([]int{10, 100})
	e.proxies = slices.DeleteFunc(e.proxies, func(p routeproxy.Proxy) bool { return p.Name != routeproxy.Ferry && p.Name != routeproxy.HAProxy })
	return e
}

func TestQuestion(t *testing.T) {
	needs.Cores(t, 2) // one for the proxy and one for the client
	q := newTest().question()
	q.Disturbed = func(harness.Figures) bool { return false }
	harnesstest.Run(t, q)
}

// The check detects a proxy that lacks a route, and one that responds to requests without a route.
func TestCheckSeesFaults(t *testing.T) {
	needs.Cores(t, 2)
	e := newTest()
	if err := e.prepare(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	ferry := e.proxies[0]
	all, few := routeset.Set{Kind: routeset.HostPrefix, Count: 20}, routeset.Set{Kind: routeset.HostPrefix, Count: 10}
	if err := e.check(starter(ferry, few), all); err == nil || !strings.Contains(err.Error(), "want status 200") {
		t.Errorf("a route is missing: got %v", err)
	}
	other := routeset.Set{Kind: routeset.Header, Count: 10}
	if err := e.check(nil, other); err == nil {
		t.Error("no proxy: no error")
	}
}
