package bolt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
)

// Every request is logged and counted, whether the server or the proxy responds.
func TestLogAndCounts(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "log")
	log, err := traffic.OpenLog(&traffic.LogConfig{File: name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rule := route.Rule{Name: "echo", Cluster: "c"}
	rule.Match.Bolt.Service = "com.example.Echo:1.0"
	servers := cluster("c", newServer(t, nil))
	p := start(t, nil, nil, []route.Rule{rule}, servers)
	p.use(nil, log, []route.Rule{rule}, servers)
	c := p.dial()
	for i, content := range [][]byte{[]byte("small"), filled(2 * largeFrame)} {
		m := call(wire.V2, uint32(i), rule.Match.Bolt.Service, content)
		m.Header = wire.AppendPair(m.Header, wire.Method, "say")
		c.send(m)
		c.status(uint32(i), wire.StatusSuccess)
	}
	c.send(call(wire.V2, 2, "com.example.Other:1.0", nil))
	c.status(2, wire.StatusNoProcessor)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3:\n%s", len(lines), text)
	}
	for i, want := range [][]string{
		{"com.example.Echo:1.0", `"say"`, servers.Endpoints[0].Address, c.LocalAddr().String(), "success"},
		{"com.example.Echo:1.0", `"say"`, servers.Endpoints[0].Address, c.LocalAddr().String(), "success"},
		{"com.example.Other:1.0", "no_route", "no_processor"},
	} {
		for _, part := range want {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %d has no %s: %s", i, part, lines[i])
			}
		}
	}
	counted := p.metrics.Snapshot()
	if r := counted.Routes[0]; r.Requests[traffic.Bolt(wire.StatusSuccess)] != 2 || r.In < 2*largeFrame || r.Out < 2*largeFrame {
		t.Errorf("counted for the route: %+v", r)
	}
	if l := counted.Listeners[0]; l.Refused[traffic.NoRoute] != 1 || l.Connections != 1 {
		t.Errorf("counted for the listener: %+v", l)
	}
}
