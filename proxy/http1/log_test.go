package http1

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/proxy/traffic"
)

// TestLog looks at what the access log says of a request, of one that was refused, and of one that makes no sense.
func TestLog(t *testing.T) {
	c := setup{servers: []string{serve(t, echo)}}
	r := start(t, c)
	file := filepath.Join(t.TempDir(), "access.log")
	log, err := traffic.OpenLog(&traffic.LogConfig{File: file}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p := r.plan(c)
	p.Log = log
	r.service.Use(nil, p)
	conn := r.dial()
	conn.send("GET /path?q HTTP/1.1\nHost: a.example\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n\n")
	conn.read("GET")
	conn.send("nonsense\n\n")
	conn.read("GET")
	conn.ends()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2 {
		t.Fatalf("log has %d lines: %s", len(lines), text)
	}
	for i, parts := range [][]string{
		{`"GET"`, `"a.example"`, `"/path"`, "4bf92f3577b34da6a3ce929d0e0e4736", `"127.0.0.1"`, "200", `"web"`},
		{"400", "bad_request", `"127.0.0.1"`},
	} {
		for _, part := range parts {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %d has no %s: %s", i+1, part, lines[i])
			}
		}
	}
}
