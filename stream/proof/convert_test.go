//go:build linux

package proof

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"example.com/ferry/engine"
	"example.com/ferry/engine/nats"
)

// TestStreamsOfEarlierVersion: a data directory whose streams an earlier version has stored with JetStream is refused. The commands that the
// error names convert it: the node then has the messages, and a durable continues where it was.
func TestStreamsOfEarlierVersion(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	streams := filepath.Join(data, "streams")
	address, stop := serve(t, streams)
	e, err := nats.Connect(t.Context(), nats.ClusterConfig{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Open(t.Context(), engine.Config{Name: "orders", Tags: []string{"orders/#"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		stored := make(chan error, 1)
		s.Append([]engine.Record{{Tag: "orders/a", Payload: fmt.Append(nil, i)}}, func(err error) { stored <- err })
		if err := <-stored; err != nil {
			t.Fatal(err)
		}
	}
	c, err := s.Cursor(t.Context(), engine.CursorConfig{Name: "workers", Start: engine.Start{At: engine.AtFirst}})
	if err != nil {
		t.Fatal(err)
	}
	c.Commit(engine.Position{Floor: 6})
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()

	n := newNode(t, nodeConfig{name: "node", dataDir: data, engine: "{address: embedded}", streams: "[{name: orders, tags: orders/#, delivery: at-least-once}]"})
	refused, err := exec.Command(n.program, n.args...).CombinedOutput()
	if err == nil {
		t.Fatalf("ferry run: %s", refused)
	}
	for _, want := range []string{"nats-server -js -sd " + streams, "ferry stream copy --from nats://127.0.0.1:4222 --to-dir " + data + " NAME"} {
		if !strings.Contains(string(refused), want) {
			t.Errorf("the node does not say %q: %s", want, refused)
		}
	}

	address, stop = serve(t, streams)
	out, err := exec.Command(n.program, "stream", "copy", "--from", address, "--to-dir", data, "orders").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "orders: 10 records, sequence 1 to 10") {
		t.Fatalf("ferry stream copy: %v, %s", err, out)
	}
	stop()
	if err := os.Rename(filepath.Join(streams, "jetstream"), filepath.Join(t.TempDir(), "jetstream")); err != nil {
		t.Fatal(err)
	}

	n.start()
	n.awaitReady()
	out, err = exec.Command(n.program, "stream", "info", "orders", "-o", "json", "-a", "http://"+n.admin, "--data-dir", data).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"records":10`) || !strings.Contains(string(out), `"lag":4`) {
		t.Errorf("ferry stream info: %v, %s", err, out)
	}
}

// serve starts a NATS server with JetStream in this process, on a directory.
func serve(t *testing.T, dir string) (address string, stop func()) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(timeout) {
		t.Fatal("the server does not accept connections")
	}
	stop = func() {
		s.Shutdown()
		s.WaitForShutdown()
	}
	t.Cleanup(stop)
	return "nats://" + s.Addr().String(), stop
}
