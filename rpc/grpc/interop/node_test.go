package interop

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
	"example.com/ferry/node"
	"example.com/ferry/node/config"
)

// TestThroughNode: clients of grpc-go and of gRPC for Python call servers of grpc-go and Python through a node, without a package of ferry at either end.
func TestThroughNode(t *testing.T) {
	t.Parallel()
	python, err := filepath.Abs("../../../bin/python/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	script := "../../../proxy/interop/testdata/grpc_peer.py"
	token := "caller-token-0000"
	through := func(t *testing.T, server string) (addr string) {
		t.Helper()
		cfg := config.Default()
		cfg.Listeners = []config.Listener{{Address: "h2c://127.0.0.1:0"}}
		cfg.Admin.Address, cfg.DataDir, cfg.Live = "127.0.0.1:0", filepath.Join(t.TempDir(), "data"), config.Live{Interval: time.Second}
		cfg.Identities = []config.Identity{{Name: "caller", Token: token, Call: []string{"interop.Echo"}}}
		cfg.Serve = []config.Serve{{Service: "interop.Echo", To: "grpc://" + server}}
		n, err := node.Build(cfg, node.Extensions{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("run: %v", err)
			}
		})
		select {
		case <-n.Ready():
		case <-time.After(patience):
			t.Fatal("the node is not ready")
		}
		return strings.TrimPrefix(n.Addresses()[0], "h2c://")
	}
	calls := func(t *testing.T, path string, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		c := exec.CommandContext(ctx, path, args...)
		c.Env = append(os.Environ(), "FERRY_TOKEN="+token)
		out, err := c.CombinedOutput()
		if err != nil || string(out) != "passed 72\n" {
			t.Errorf("%s: %v: got %q", filepath.Base(path), err, out)
		}
	}
	t.Run("a server of grpc-go", func(t *testing.T) {
		t.Parallel()
		at := through(t, startOnFreePort(t, func(port string) *exec.Cmd { return exec.Command(program(t, "peer"), "serve", "127.0.0.1:"+port) }))
		calls(t, program(t, "peer"), "call", at)
		if _, err := os.Stat(python); err != nil {
			needs.Missing(t, "gRPC for Python in bin/python", "make deps")
		}
		calls(t, python, script, "call", at)
	})
	t.Run("a server in Python", func(t *testing.T) {
		t.Parallel()
		if _, err := os.Stat(python); err != nil {
			needs.Missing(t, "gRPC for Python in bin/python", "make deps")
		}
		calls(t, program(t, "peer"), "call", through(t, startOnFreePort(t, func(port string) *exec.Cmd { return exec.Command(python, script, port) })))
	})
}
