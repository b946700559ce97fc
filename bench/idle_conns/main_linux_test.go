package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/internal/needs"
)

func TestMain(m *testing.M) {
	keepalive.Main()
	httpproxy.Main()
	os.Exit(m.Run())
}

// newTest is the question with fewer connections, at addresses of the test's own.
func newTest(t *testing.T) *experiment {
	t.Helper()
	a, err := keepalive.FreeAddrs(9)
	if err != nil {
		t.Fatal(err)
	}
	return newExperiment(addresses{a[0], a[1], a[2:]}, []load{{"300", 300, 1}, {"700 over seven", 700, 7}})
}

func TestQuestion(t *testing.T) {
	e := newTest(t)
	q := e.question()
	q.Disturbed = nil // a test runs on a busy machine; see TestDisturbed
	q.Contenders = slices.DeleteFunc(q.Contenders, func(c harness.Contender) bool {
		// The check starts all of them.
		return c.Kind == harness.Peer && c.Name != nginx
	})
	harnesstest.Run(t, q)
}

// The check detects a row whose backend speaks another protocol.
func TestCheckSeesFaults(t *testing.T) {
	e := newTest(t)
	for _, p := range e.rows {
		if p.kind != harness.Peer {
			continue
		}
		e.dir = t.TempDir()
		p.wire = keepalive.Bolt
		e.rows = []row{p}
		if err := e.checkResponses(); err == nil || !strings.Contains(err.Error(), p.name) {
			t.Errorf("got %v", err)
		}
		return
	}
	needs.Missing(t, "nginx, HAProxy or Envoy", "make deps")
}

func TestDescriptorsAreCounted(t *testing.T) {
	e := newTest(t)
	e.loads = []load{{"too many", 1 << 40, 1}}
	if err := e.prepare(t.TempDir()); err == nil || !strings.Contains(err.Error(), "descriptors a process for too many") {
		t.Errorf("got %v", err)
	}
}

func TestDisturbed(t *testing.T) {
	for _, row := range []struct {
		name string
		f    harness.Figures
		want bool
	}{
		{"in time", harness.Figures{late99: 0.5, p99: 1000}, false},
		{"a late client", harness.Figures{late99: 0.51}, true},
	} {
		if got := disturbed(row.f); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
}
