package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

func TestTwoProtocols(t *testing.T) {
	t.Parallel()
	p := start(t, &Config{
		Listeners: []Listener{
			{Name: "http", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web"},
			{Name: "rpc", Address: "127.0.0.1:0", Protocol: Bolt, Cluster: "echo"},
		},
		Clusters: []upstream.Config{cluster1("web", web(t, "a", 0)), cluster1("echo", echo(t))},
	})
	if got, err := get(http.DefaultClient, "http://"+at(p, 0)+"/x"); err != nil || got != "a /x hi" {
		t.Errorf("http1: %q, %v", got, err)
	}
	if err := call(at(p, 1)); err != nil {
		t.Errorf("bolt: %v", err)
	}
	s := p.Snapshot()
	if len(s.Traffic.Routes) != 2 || len(s.Clusters) != 2 || s.Clusters[0].Name != "echo" || len(s.Loops) != 2 {
		t.Errorf("snapshot: %+v", s)
	}
	if b := s.Bound; s.Now <= 0 || len(b) != 2 || b[1] != (Bound{"rpc", Bolt, at(p, 1)}) {
		t.Errorf("snapshot: after %v at %+v", s.Now, b)
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	cfg := func(server string) *Config {
		return &Config{
			Loops:     2,
			Listeners: []Listener{{Name: "http", Address: "127.0.0.1:0", Protocol: HTTP1, Routes: []route.Rule{{Name: "all", Cluster: "web"}}}},
			Clusters:  []upstream.Config{cluster1("web", server)},
		}
	}
	a, b := web(t, "a", time.Millisecond), web(t, "b", time.Millisecond)
	p := start(t, cfg(a))
	url := "http://" + at(p, 0)
	stop := load(t, url, 8)
	for i := range 10 {
		time.Sleep(30 * time.Millisecond)
		if err := p.Reload(cfg([]string{b, a}[i%2])); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Reload(cfg(b)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(30 * time.Millisecond)
	counts := stop()
	if counts["a"] == 0 || counts["b"] == 0 || len(counts) != 2 {
		t.Errorf("answers by server: %v, want of both", counts)
	}
	if got, err := get(http.DefaultClient, url); err != nil || !strings.HasPrefix(got, "b ") {
		t.Errorf("after the last reload: %q, %v", got, err)
	}
	if got := p.Addresses()[0]; got != "http1://"+strings.TrimPrefix(url, "http://") {
		t.Errorf("the listener moved to %s", got)
	}
}

func TestReloadRenamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := func(names ...string) *Config {
		c := &Config{Loops: 2, Clusters: []upstream.Config{cluster1("web", web(t, "a", 0))}}
		for i, name := range names {
			address := "unix:" + filepath.Join(dir, string(rune('0'+i)))
			c.Listeners = append(c.Listeners, Listener{Name: name, Address: address, Protocol: HTTP1, Cluster: "web"})
		}
		return c
	}
	p := start(t, cfg("", "b"))
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "0"))
	}}}
	request := func() {
		t.Helper()
		if got, err := get(client, "http://localhost/"); err != nil || got != "a / hi" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	request()
	for _, tt := range []struct {
		name  string
		names []string // names of the listeners, in the order of the configuration
	}{
		{"named", []string{"a", "b"}},
		{"exchanged", []string{"b", "a"}},
		{"both changed", []string{"c", "d"}},
		{"a new listener has a name that was changed", []string{"e", "d", "c"}},
	} {
		if err := p.Reload(cfg(tt.names...)); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		request()
		s := p.Snapshot()
		if s.Bound[0].Listener != tt.names[0] || s.Bound[1].Listener != tt.names[1] || len(s.Traffic.Listeners) != len(tt.names) {
			t.Errorf("%s: bound %+v, counted %+v", tt.name, s.Bound, s.Traffic.Listeners)
		}
		for _, l := range s.Traffic.Listeners {
			want := 0
			if l.Name == tt.names[0] {
				want = 1 // the connection opened before the first reload
			}
			if l.Connections != want || l.Accepted != uint64(want) {
				t.Errorf("%s: listener %s has %d connections of %d, want %d", tt.name, l.Name, l.Connections, l.Accepted, want)
			}
		}
	}
}

func TestReloadRefused(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	good := func() *Config {
		return &Config{
			Loops:     2,
			Listeners: []Listener{{Name: "http", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web"}},
			Clusters:  []upstream.Config{cluster1("web", "127.0.0.1:1")},
		}
	}
	first := good()
	first.Clusters[0] = cluster1("web", web(t, "a", 0))
	p := start(t, first)
	for _, tt := range []struct {
		name   string
		change func(*Config)
		config bool // the error is in the configuration
		want   string
	}{
		{"invalid", func(c *Config) { c.Clusters = nil }, true, "there is no cluster"},
		{"loops", func(c *Config) { c.Loops = 1 }, true, "loops: changed from 2 to 1: that needs a restart"},
		{"protocol", func(c *Config) { c.Listeners[0].Protocol = Bolt }, true, "listeners[0].protocol: changed from http1 to bolt at the same address"},
		{"busy", func(c *Config) {
			c.Listeners = append(c.Listeners, Listener{Name: "more", Address: busy.Addr().String(), Protocol: HTTP1, Cluster: "web"})
		}, false, "in use"},
		{"log", func(c *Config) { c.AccessLog.File = filepath.Join(t.TempDir(), "no", "access.log") }, false, "access_log"},
	} {
		cfg := good()
		tt.change(cfg)
		err := p.Reload(cfg)
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.As(err, new(Errors)) != tt.config {
			t.Errorf("%s: %v (%T)", tt.name, err, err)
		}
		if got, err := get(http.DefaultClient, "http://"+at(p, 0)); err != nil || got != "a / hi" {
			t.Errorf("after %s: %q, %v", tt.name, got, err)
		}
	}
}

// A listener that a reload removes still responds to the requests that it has read. Then it closes its connections.
func TestReloadDrops(t *testing.T) {
	t.Parallel()
	server := web(t, "slow", 200*time.Millisecond)
	with := func(names ...string) *Config {
		c := &Config{Loops: 2, Clusters: []upstream.Config{cluster1("web", server)}}
		for _, name := range names {
			c.Listeners = append(c.Listeners, Listener{Name: name, Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web"})
		}
		return c
	}
	p := start(t, with("stays", "goes"))
	stays, goes := at(p, 0), at(p, 1)
	idle, err := net.Dial("tcp", goes)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	var answered atomic.Bool
	asked := make(chan error, 1)
	go func() {
		body, err := get(&http.Client{Transport: &http.Transport{}}, "http://"+goes)
		answered.Store(body == "slow / hi")
		asked <- err
	}()
	time.Sleep(50 * time.Millisecond)
	if err := p.Reload(with("stays")); err != nil {
		t.Fatal(err)
	}
	if err := idle.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, err := idle.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the idle connection is still open: %d, %v", n, err)
	}
	if err := <-asked; err != nil || !answered.Load() {
		t.Errorf("the request under way: %v", err)
	}
	if c, err := net.Dial("tcp", goes); err == nil {
		c.Close()
		t.Error("the dropped listener still accepts")
	}
	if got, err := get(http.DefaultClient, "http://"+stays); err != nil || got != "slow / hi" {
		t.Errorf("the listener that stays: %q, %v", got, err)
	}
	if s := p.Snapshot().Traffic; len(s.Listeners) != 1 || len(s.Routes) != 1 {
		t.Errorf("the dropped listener is still counted: %+v", s)
	}
}

func TestShutdownUnderLoad(t *testing.T) {
	t.Parallel()
	cfg := &Config{
		Loops:     2,
		Listeners: []Listener{{Name: "http", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web"}},
		Clusters:  []upstream.Config{cluster1("web", web(t, "slow", 300*time.Millisecond))},
	}
	p, err := New(cfg, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan error, 20)
	for range cap(results) {
		go func() {
			_, err := get(&http.Client{Transport: &http.Transport{}}, "http://"+at(p, 0))
			results <- err
		}()
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		active := 0
		for _, e := range p.Snapshot().Clusters[0].Endpoints {
			active += int(e.Active)
		}
		if active == cap(results) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d requests under way, want %d", active, cap(results))
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	for range cap(results) {
		if err := <-results; err != nil {
			t.Errorf("a request under way: %v", err)
		}
	}
	if err := p.Reload(cfg); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Reload after Shutdown: %v", err)
	}
}

func TestAccessLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := func(file string) *Config {
		return &Config{
			Loops:     2,
			Listeners: []Listener{{Name: "http", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web"}},
			Clusters:  []upstream.Config{cluster1("web", web(t, "a", 0))},
			AccessLog: traffic.LogConfig{File: filepath.Join(dir, file)},
		}
	}
	p := start(t, cfg("one"))
	ask := func(path string) {
		t.Helper()
		if _, err := get(http.DefaultClient, "http://"+at(p, 0)+path); err != nil {
			t.Fatal(err)
		}
	}
	lines := func(file, want string) {
		t.Helper()
		var got []byte
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if got, _ = os.ReadFile(filepath.Join(dir, file)); strings.Contains(string(got), want) {
				return
			}
		}
		t.Errorf("%s holds %q, want a line with %s", file, got, want)
	}
	ask("/first")
	lines("one", `"path":"/first"`)
	if err := os.Rename(filepath.Join(dir, "one"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := p.Reopen(); err != nil {
		t.Fatal(err)
	}
	ask("/second")
	lines("one", `"path":"/second"`)
	if err := p.Reload(cfg("two")); err != nil {
		t.Fatal(err)
	}
	ask("/third")
	lines("two", `"path":"/third"`)
}
