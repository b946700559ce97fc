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
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) {
	e := newExperiment()
	e.conns = 100
	q := e.question()
	q.Contenders = slices.DeleteFunc(q.Contenders, func(c harness.Contender) bool { return c.Kind == harness.Peer && c.Name != nginx })
	harnesstest.Run(t, q)
}

// The check detects a row without TLS.
func TestCheckSeesFaults(t *testing.T) {
	e := newExperiment()
	if err := e.prepare(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	reverse := e.contenders[slices.IndexFunc(e.contenders, func(c contender) bool { return c.name == "httputil.ReverseProxy" })]
	e.contenders = []contender{{name: "cleartext", start: func(s httpproxy.Setup) (*pinned.Process, error) {
		s.TLS.Cert = ""
		return reverse.start(s)
	}}}
	if err := e.checkResponses(); err == nil || !strings.Contains(err.Error(), "cleartext, full handshakes") || !strings.Contains(err.Error(), "TLS") {
		t.Errorf("got %v", err)
	}
}
