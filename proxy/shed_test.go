package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/overload"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// keptClient is a client's connection for several requests.
type keptClient struct {
	net.Conn
	r *bufio.Reader
}

func dialKept(t *testing.T, addr string) *keptClient {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(proxytest.Patience))
	return &keptClient{c, bufio.NewReader(c)}
}

func (c *keptClient) get() (*http.Response, error) {
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	return resp, err
}

// TestOverload: a budget below what the process uses makes the proxy shed everything. Requests get 503 with Retry-After and
// their connections end, new connections are closed, and all of it ends with a larger budget.
func TestOverload(t *testing.T) {
	server := web(t, "a", 0)
	cfg := func(o overload.Config) *Config {
		return &Config{
			Loops: 2, Overload: o, Clusters: []upstream.Config{cluster1("web", server)},
			Listeners: []Listener{{Name: "http", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web"}},
		}
	}
	p := start(t, cfg(overload.Config{}))
	kept := dialKept(t, at(p, 0))
	if resp, err := kept.get(); err != nil || resp.StatusCode != 200 || resp.Close {
		t.Fatalf("before: %v, %v", resp, err)
	}
	ballast := make([]byte, 64<<20)
	for i := range ballast {
		ballast[i] = 1
	}
	if err := p.Reload(cfg(overload.Config{Memory: 32 << 20})); err != nil {
		t.Fatal(err)
	}
	proxytest.Eventually(t, "refused connections", func() bool { return p.Snapshot().Overload.Level == overload.RefusingConnections })
	resp, err := kept.get()
	if err == nil { // otherwise it was idle and is closed already
		if after := resp.Header.Get("Retry-After"); resp.StatusCode != 503 || !resp.Close || after < "1" || after > "5" {
			t.Errorf("status %d, Retry-After %q, close is %v", resp.StatusCode, after, resp.Close)
		}
	}
	if c, err := net.Dial("tcp", at(p, 0)); err == nil {
		_ = c.SetDeadline(time.Now().Add(proxytest.Patience))
		if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Error("a connection is accepted")
		}
		c.Close()
	}
	s := p.Snapshot()
	if l := s.Traffic.Listeners[0]; l.RefusedConnections[traffic.ConnectionShed] == 0 || l.Refused[traffic.Shed] == 0 && s.IdleClosed == 0 {
		t.Errorf("%v requests and %v connections refused, %d idle ones closed", l.Refused, l.RefusedConnections, s.IdleClosed)
	}
	if s.Overload.Raised[overload.RefusingConnections] != 1 || s.Overload.MemoryBudget != 32<<20 || s.Overload.Memory < 32<<20 {
		t.Errorf("stats %+v", s.Overload)
	}
	runtime.KeepAlive(ballast)
	if err := p.Reload(cfg(overload.Config{})); err != nil {
		t.Fatal(err)
	}
	proxytest.Eventually(t, "normal operation", func() bool { return p.Snapshot().Overload.Level == overload.Normal })
	if resp, err := dialKept(t, at(p, 0)).get(); err != nil || resp.StatusCode != 200 || resp.Close {
		t.Errorf("after: %v, %v", resp, err)
	}
}

// TestCloseIdle: the connections that are idle longest are closed first, and one with a request is not.
func TestCloseIdle(t *testing.T) {
	t.Parallel()
	busy := make(chan struct{})
	p := run(t, &Config{
		Loops: 1, Clusters: []upstream.Config{cluster1("web", web(t, "a", 0)), cluster1("slow", serve(t, func(net.Conn) { <-busy }))},
		Listeners: []Listener{
			{Name: "http", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web"},
			{Name: "slow", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "slow"},
		},
	})
	defer close(busy)
	waiting := dialKept(t, at(p, 1))
	_, _ = io.WriteString(waiting, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	var idle []*keptClient
	for range 8 {
		c := dialKept(t, at(p, 0))
		if _, err := c.get(); err != nil {
			t.Fatal(err)
		}
		idle = append(idle, c)
		time.Sleep(20 * time.Millisecond) // more than the resolution of the loop's timers
	}
	if _, err := idle[0].get(); err != nil { // now idle[1] is idle longest
		t.Fatal(err)
	}
	proxytest.Eventually(t, "a request in progress", func() bool { return p.Snapshot().Traffic.Listeners[1].Connections == 1 })
	p.shedder.CloseIdle(4)
	proxytest.Eventually(t, "the end of two connections", func() bool { return p.Snapshot().Traffic.Listeners[0].Connections == 6 })
	for i, c := range idle {
		if _, err := c.get(); (err != nil) != (i == 1 || i == 2) {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	if n := p.shedder.closed.Load(); n != 2 {
		t.Errorf("%d connections are counted, want 2", n)
	}
	if s := p.Snapshot().Traffic.Listeners[1]; s.Connections != 1 {
		t.Error("a connection with a request is closed")
	}
}

// TestMaxConnections: the default is what descriptors and memory allow.
func TestMaxConnections(t *testing.T) {
	t.Parallel()
	all := loop.DefaultMaxConns()
	for _, row := range []struct {
		configured int
		budget     int64
		want       int
	}{
		{7, 1 << 20, 7}, {0, 0, all}, {0, 1 << 50, all}, {0, 16 << 20, 1024}, {0, 1, 64},
	} {
		c := Config{MaxConnections: row.configured}
		if got := c.maxConnections(row.budget); got != row.want {
			t.Errorf("max_connections %d with %d bytes: %d, want %d", row.configured, row.budget, got, row.want)
		}
	}
}
