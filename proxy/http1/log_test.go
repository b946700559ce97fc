package http1

import (
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/traffic"
)

// accessLog replaces the configuration by c with an access log. The function that it returns closes the log and returns its text.
func (r *rig) accessLog(c setup) (closed func() []byte) {
	r.TB.Helper()
	file := filepath.Join(r.TB.TempDir(), "access.log")
	log, err := traffic.OpenLog(&traffic.LogConfig{File: file}, slog.New(slog.DiscardHandler))
	if err != nil {
		r.TB.Fatal(err)
	}
	p := r.plan(c)
	p.Log = log
	r.service.Use(nil, p)
	return func() []byte {
		r.TB.Helper()
		if err := log.Close(); err != nil {
			r.TB.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			r.TB.Fatal(err)
		}
		return text
	}
}

// TestLog checks the access log entries of a valid and of a malformed request.
func TestLog(t *testing.T) {
	c := setup{servers: []string{proxytest.ServeHTTP(t, proxytest.EchoHTTP)}}
	r := start(t, c)
	logged := r.accessLog(c)
	conn := r.dial()
	conn.Send("GET /path?q HTTP/1.1\nHost: a.example\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n\n")
	conn.ReadResponse("GET")
	conn.Send("nonsense\n\n")
	conn.ReadResponse("GET")
	conn.Ends()
	text := logged()
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

// TestLogOfTunnel checks the access log entry of a tunnel that has ended.
func TestLogOfTunnel(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		cfg := setup{loop: c, servers: []string{upgradingServer(t)}}
		r := start(t, cfg)
		logged := r.accessLog(cfg)
		conn := r.dial()
		conn.Send(upgrade)
		if resp, err := http.ReadResponse(conn.R, nil); err != nil || resp.StatusCode != 101 {
			t.Fatalf("got %v, %v", resp, err)
		}
		io.WriteString(conn, strings.Repeat("x", 1000))
		conn.Conn.(*net.TCPConn).CloseWrite()
		if _, err := io.ReadAll(conn.R); err != nil {
			t.Fatal(err)
		}
		r.eventually("the tunnel is over", func() bool {
			sum, _ := r.Group.Stats()
			return sum.Conns == 0
		})
		text := logged()
		var line struct {
			Method, Host, Path, Client, Cluster string
			Status, Attempts                    int
			In                                  int     `json:"bytes_in"`
			Out                                 int     `json:"bytes_out"`
			Took                                float64 `json:"duration_ms"`
		}
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatalf("log is %q, want one line: %v", text, err)
		}
		if line.Method != "GET" || line.Host != "a" || line.Path != "/chat" || line.Client != "127.0.0.1" || line.Cluster != "web" ||
			line.Status != 101 || line.Attempts != 1 || line.In < len(upgrade)+1000 || line.Out < 1000 || line.Took <= 0 {
			t.Errorf("log says %s", text)
		}
	})
}
