package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/ferry/bench/internal/boltload"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/internal/needs"
)

func TestMain(m *testing.M) {
	boltload.Main()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) {
	needs.Cores(t, 2) // one for the proxy and one for the load
	q := newExperiment(unused(t)).question()
	harnesstest.Run(t, q)
}

// The programs of the rows are installed.
func TestPrograms(t *testing.T) {
	for _, name := range []string{"nginx", "haproxy", "gcc"} {
		t.Run(name, func(t *testing.T) { needs.Program(t, name) })
	}
}

// A row without its program is left out, and a note says why.
func TestAbsent(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	e := newExperiment(boltload.Shipped)
	if e.compiler != "" || slices.ContainsFunc(e.rows, func(r row) bool { return r.name == envoyRow || r.name == "limit: C" }) {
		t.Errorf("%+v are rows", e.rows)
	}
	notes := strings.Join(e.question().Notes, "\n")
	for _, want := range []string{envoyRow + " has no row: it is not installed", "limit: C has no row: gcc is not installed"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is missing in:\n%s", want, notes)
		}
	}
}

// The error of a proxy that does not start has its output.
func TestCheckNamesTheRow(t *testing.T) {
	needs.Cores(t, 2) // one for the proxy and one for the load
	e := newExperiment(unused(t))
	e.dir = t.TempDir()
	e.rows = []row{{name: "broken", kind: harness.Peer, argv: func(boltload.Workload) ([]string, error) {
		return []string{"sh", "-c", "echo no such setting >&2; exit 2"}, nil
	}}}
	err := e.checkResponses()
	for _, want := range []string{"broken: ", "exit status 2", "no such setting"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

func unused(t *testing.T) boltload.Addresses {
	t.Helper()
	at, err := boltload.Unused()
	if err != nil {
		t.Fatal(err)
	}
	return at
}
