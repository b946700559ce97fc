package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/ferry/bench/internal/grpcload"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/pinned"
)

func TestMain(m *testing.M) {
	keepalive.Main(grpcload.Protocols()...)
	httpproxy.Main()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) {
	q := newExperiment().question()
	q.Contenders = slices.DeleteFunc(q.Contenders, func(c harness.Contender) bool { return c.Kind == harness.Peer })
	harnesstest.Run(t, q) // the check starts the peers
}

// The check detects a row without a server.
func TestCheckSeesFaults(t *testing.T) {
	e := newExperiment()
	e.dir = t.TempDir()
	reverse := e.contenders[slices.IndexFunc(e.contenders, func(c contender) bool { return c.name == "httputil.ReverseProxy" })]
	e.contenders = []contender{{name: "nothing behind", start: func(s httpproxy.Setup) (*pinned.Process, error) {
		s.Upstream = "127.0.0.1:1"
		return reverse.start(s)
	}}}
	if err := e.checkResponses(); err == nil || !strings.Contains(err.Error(), "nothing behind, unary") || !strings.Contains(err.Error(), "502") {
		t.Errorf("got %v", err)
	}
}
