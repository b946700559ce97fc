package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/bench/internal/pubsub"
	"example.com/ferry/internal/needs"
)

func TestMain(m *testing.M) {
	pubsub.Main()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) {
	needs.Root(t)
	needs.NetNS(t)
	harnesstest.Run(t, question())
	out, err := exec.Command("ip", "netns", "list").Output()
	if err != nil || strings.Contains(string(out), "ferry-") {
		t.Errorf("namespaces are left behind: %s, %v", out, err)
	}
}
