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
	"example.com/ferry/bench/internal/pinned"
)

func TestMain(m *testing.M) {
	keepalive.Main()
	httpproxy.Main()
	playRelay()
	os.Exit(m.Run())
}

func newTest(t *testing.T) *experiment {
	t.Helper()
	a, err := keepalive.FreeAddrs(5)
	if err != nil {
		t.Fatal(err)
	}
	return newExperiment(addresses{a[0], [2]string{a[1], a[2]}, [2]string{a[3], a[4]}})
}

func TestQuestion(t *testing.T) {
	e := newTest(t)
	q := e.question()
	q.Disturbed = nil // a test runs on a busy machine; see TestDisturbed
	q.Contenders = slices.DeleteFunc(q.Contenders, func(c harness.Contender) bool {
		// The check starts all of them.
		return c.Kind == harness.Peer && c.Name != "fasthttp"
	})
	harnesstest.Run(t, q)
}

// The check detects a row without a server.
func TestCheckSeesFaults(t *testing.T) {
	e := newTest(t)
	e.dir = t.TempDir()
	e.contenders = []contender{{name: "nothing behind", kind: harness.Ferry, start: func(e *experiment, s httpproxy.Setup) (*pinned.Process, error) {
		s.Upstream = "127.0.0.1:1"
		peer := slices.IndexFunc(e.contenders, func(c contender) bool { return c.name == "fasthttp" })
		return e.contenders[peer].start(e, s)
	}}}
	all, _ := contenders()
	e.contenders = append(e.contenders, all...)
	if err := e.checkResponses(); err == nil || !strings.Contains(err.Error(), "nothing behind, one core") {
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
