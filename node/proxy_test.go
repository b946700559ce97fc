package node

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"example.com/ferry/internal/pki"
	"example.com/ferry/node/config"
	"example.com/ferry/proxy"
	"example.com/ferry/proxy/upstream"
)

// web starts a server that responds with its name.
func web(t *testing.T, name string) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, name) }))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// inFrontOf returns a proxy in front of one server.
func inFrontOf(server string) *proxy.Config {
	return &proxy.Config{
		Loops:     1,
		Listeners: []proxy.Listener{{Address: "127.0.0.1:0", Protocol: proxy.HTTP1, Cluster: "web"}},
		Clusters:  []upstream.Config{{Name: "web", Endpoints: []upstream.EndpointConfig{{Address: server}}}},
	}
}

// through returns the URL of n's HTTP listener.
func through(t *testing.T, n *Node) string {
	t.Helper()
	for _, a := range n.Addresses() {
		if rest, ok := strings.CutPrefix(a, "http1://"); ok {
			return "http://" + rest + "/"
		}
	}
	t.Fatalf("no http1 among %v", n.Addresses())
	return ""
}

// TestProxyOnly checks that a node with a proxy and no listeners has only the proxy and the admin server.
func TestProxyOnly(t *testing.T) {
	cfg := quiet(t)
	cfg.Listeners, cfg.Proxy = nil, inFrontOf(web(t, "a server"))
	n := build(t, cfg)
	stop := run(t, n)
	if status, body := get(t, through(t, n)); status != http.StatusOK || body != "a server" {
		t.Errorf("through the proxy: %d %q", status, body)
	}
	if status, _ := get(t, n.Admin()+"ready"); status != http.StatusOK {
		t.Errorf("/ready: %d", status)
	}
	if status, _ := get(t, n.Admin()+"api/functions"); status != http.StatusNotFound {
		t.Errorf("/api/functions of a node without functions: %d", status)
	}
	if _, body := get(t, n.Admin()+"metrics"); strings.Contains(body, "ferry_messages_total") || !strings.Contains(body, `ferry_proxy_requests_total{`) {
		t.Errorf("/metrics: got\n%s\nwant the proxy's, and none of streams", body)
	}
	if all := n.Addresses(); len(all) != 1 {
		t.Errorf("addresses: %v", all)
	}
	if n.broker != nil || n.id != nil || n.pool != nil {
		t.Error("the node has streams")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(cfg.DataDir); err != nil || len(files) != 1 || files[0].Name() != pki.TokenFile {
		t.Errorf("the data directory has %v, %v, want the token for actions only", files, err)
	}
}

// TestProxyBesideStreams runs streams and a proxy in one node, and drains both.
func TestProxyBesideStreams(t *testing.T) {
	cfg := quiet(t)
	cfg.Proxy = inFrontOf(web(t, "a server"))
	n := build(t, cfg)
	stop := run(t, n)
	if all := strings.Join(n.Addresses(), " "); !strings.HasPrefix(all, "quic://") || strings.Count(all, "://") != 3 {
		t.Errorf("addresses: %v", all)
	}
	c, err := client(t, n, "tcp", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	got := observe(t, c, "a")
	send(t, c, "a", "hello")
	if m := next(t, got); string(m.Payload) != "hello" {
		t.Errorf("through the hop: %q", m.Payload)
	}
	if _, body := get(t, through(t, n)); body != "a server" {
		t.Errorf("through the proxy: %q", body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestProxyDrains stops a node while a request is in flight. The response still arrives.
func TestProxyDrains(t *testing.T) {
	arrived, respond := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-respond
		fmt.Fprint(w, "late")
	}))
	defer s.Close()
	cfg := quiet(t)
	cfg.Listeners, cfg.Proxy = nil, inFrontOf(s.Listener.Addr().String())
	n := build(t, cfg)
	stop := run(t, n)
	url := through(t, n)
	got := make(chan string, 1)
	go func() {
		_, body := get(t, url)
		got <- body
	}()
	<-arrived
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for { // until the listener is closed
		c, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"))
		if err != nil {
			break
		}
		c.Close()
	}
	close(respond)
	if body := <-got; body != "late" {
		t.Errorf("got %q", body)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestProxyConfigErrors(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, c := range []struct {
		name   string
		change func(*config.Config)
		want   string
	}{
		{"busy port", func(c *config.Config) { c.Proxy.Listeners[0].Address = busy.Addr().String() }, busy.Addr().String()},
		{"busy admin port", func(c *config.Config) { c.Admin.Address = busy.Addr().String() }, busy.Addr().String()},
		{"wrong", func(c *config.Config) { c.Proxy.Listeners[0].Cluster = "wep" }, `proxy.listeners[0]`},
		{"functions", func(c *config.Config) { c.Live.Functions = true }, "config: live: for streams, of which this node has none"},
	} {
		cfg := quiet(t)
		cfg.Listeners, cfg.Proxy = nil, inFrontOf("127.0.0.1:9")
		c.change(cfg)
		if _, err := Build(cfg, extensions()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
