//go:build linux

package proof

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// engineCase is an engine that a node may have by itself. The tests of one node run with each.
type engineCase struct {
	name        string
	config      string // the value of engine in the configuration
	atLeastOnce bool   // delivers at least once; otherwise the node must refuse that by name
}

var engineCases = []engineCase{
	{"memory", "{address: memory}", false},
	{"embedded", "{address: embedded, sync: interval}", true},
}

// eachEngine runs a test with a node of each engine. A cell that an engine cannot do must be refused by the configuration.
func eachEngine(t *testing.T, streams string, test func(*testing.T, *runningNode)) {
	for _, e := range engineCases {
		t.Run(e.name, func(t *testing.T) {
			c := nodeConfig{name: "node", engine: e.config, streams: streams}
			if strings.Contains(streams, "at-least-once") && !e.atLeastOnce {
				expectRefusal(t, c, e.name)
				return
			}
			test(t, startNode(t, c))
		})
	}
}

// expectRefusal checks that ferry check refuses a configuration, and that it names the engine and what it lacks.
func expectRefusal(t *testing.T, c nodeConfig, engine string) {
	t.Helper()
	n := newNode(t, c)
	file := n.args[len(n.args)-1]
	cmd := exec.Command(n.program, "check", "-c", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	text := strings.ReplaceAll(stderr.String(), filepath.Dir(file), "")
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(text, engine) || !strings.Contains(text, "at-least-once") {
		t.Errorf("ferry check: %v, %q, want status 2 and the reason", err, text)
	}
	t.Logf("refused: %s", strings.TrimSpace(text))
}
