package dashboard

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/format/all"
	"example.com/ferry/node"
	"example.com/ferry/node/config"
	"example.com/ferry/proxy"
	"example.com/ferry/proxy/upstream"
)

// quiet returns the default configuration on free ports, in a directory of the test's own, without live input.
func quiet(t *testing.T) *config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Listeners = []config.Listener{{Address: "quic://127.0.0.1:0"}, {Address: "tcp://127.0.0.1:0"}}
	cfg.Admin.Address = "127.0.0.1:0"
	cfg.DataDir = filepath.Join(t.TempDir(), "data")
	cfg.Live = config.Live{Interval: 20 * time.Millisecond}
	return cfg
}

func build(t *testing.T, cfg *config.Config) *node.Node {
	t.Helper()
	formats := all.Formats()
	n, err := node.Build(cfg, node.Extensions{Formats: formats, Functions: node.Functions(formats), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// run runs n until the test ends, or stop is called, and returns when it is ready.
func run(t *testing.T, n *node.Node) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	var result error
	stopped := false
	stop = func() error {
		if cancel(); !stopped {
			stopped, result = true, <-ended
		}
		return result
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	select {
	case <-n.Ready():
	case err := <-ended:
		ended <- err
		t.Fatalf("the node did not start: %v", err)
	}
	return stop
}

// inFrontOf returns the configuration of a proxy with one server as its upstream.
func inFrontOf(server string) *proxy.Config {
	return &proxy.Config{
		Loops:     1,
		Listeners: []proxy.Listener{{Address: "127.0.0.1:0", Protocol: proxy.HTTP1, Cluster: "web"}},
		Clusters:  []upstream.Config{{Name: "web", Endpoints: []upstream.EndpointConfig{{Address: server}}}},
	}
}

// through returns the URL of n's only HTTP listener.
func through(t *testing.T, n *node.Node) string {
	t.Helper()
	for _, a := range n.Addresses() {
		if rest, ok := strings.CutPrefix(a, "http1://"); ok {
			return "http://" + rest + "/"
		}
	}
	t.Fatalf("no http1 among %v", n.Addresses())
	return ""
}
