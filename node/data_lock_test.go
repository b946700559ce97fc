package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/node/config"
)

// TestTwoNodesWithOneDataDir starts a second node in the data directory of one that runs: both would write the same state of MQTT, the same spools and
// functions. The second one names the file and the process. One that only proxies shares CA and token, and starts.
func TestTwoNodesWithOneDataDir(t *testing.T) {
	cfg := quiet(t)
	first := build(t, cfg)
	stop := run(t, first)

	second := quiet(t)
	second.DataDir = cfg.DataDir
	_, err := Build(second, extensions())
	file := filepath.Join(cfg.DataDir, dataLock)
	if err == nil || !strings.Contains(err.Error(), "data_dir: ") || !strings.Contains(err.Error(), fmt.Sprintf("process %d holds %s", os.Getpid(), file)) {
		t.Fatalf("a second node: got %v, want an error that names data_dir, the process and %s", err, file)
	}
	x := extensions()
	if _, _, err := x.StartEngine(t.Context(), &config.Config{Engine: config.Engine{Address: config.EmbeddedEngine}, DataDir: cfg.DataDir}, EngineSettings{}); err == nil ||
		!strings.Contains(err.Error(), file) {
		t.Errorf("a command that writes in its place: got %v, want an error that names %s", err, file)
	}

	proxies := quiet(t)
	proxies.DataDir, proxies.Listeners = cfg.DataDir, nil
	proxies.Proxy = inFrontOf(web(t, "a server"))
	n := build(t, proxies)
	n.Close()

	if err := stop(); err != nil {
		t.Fatal(err)
	}
	again := build(t, second)
	run(t, again)
}
