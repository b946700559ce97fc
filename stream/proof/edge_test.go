//go:build linux

package proof

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/ferry/link/spool"
	"example.com/ferry/stream"
	"example.com/ferry/transport/tcp"
)

// edgeConfig is the configuration of a process that publishes through a spool, whether the node is there or not.
type edgeConfig struct {
	Name     string
	Node     string // address
	Token    string
	Recorder string
	Spool    string // directory
	Drain    bool   // publishes nothing new
}

// runEdge publishes messages of one key until it is killed. Each process has a key of its own.
func runEdge(ctx context.Context, c edgeConfig) error {
	records, err := dialRecorder(c.Recorder, c.Name)
	if err != nil {
		return err
	}
	s, err := spool.Open(spool.Config{Dir: c.Spool})
	if err != nil {
		return err
	}
	client, err := stream.Dial(ctx, tcp.New(nil), c.Node, &stream.Config{
		Token: []byte(c.Token), Name: c.Name, Spool: s, MaxBackoff: 200 * time.Millisecond, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	if c.Drain {
		select {}
	}
	key := fmt.Sprintf("%s-%d", c.Name, os.Getpid())
	for n := uint64(1); ; n++ {
		if _, err := records.record(verbSent, key, n); err != nil {
			return err
		}
		if err := client.Send(ctx, newMessage(key, n, 256)); err != nil {
			return err
		}
		if _, err := records.record(verbStored, key, n); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// TestSpooledEdge cuts off an edge that publishes through a spool, and kills it meanwhile. It keeps accepting messages, and all of
// them arrive when it is back.
func TestSpooledEdge(t *testing.T) {
	eachEngine(t, atLeastOnce, func(t *testing.T, n *runningNode) {
		r := newRelay(t, n.addr)
		h, rec := record(t)
		handleAll(t, n, h, "workers")
		config := edgeConfig{Name: "edge", Node: r.addr, Token: n.token(), Recorder: rec.path, Spool: filepath.Join(t.TempDir(), "spool")}
		edge := newRole(t, "edge", roleEdge, config)
		edge.start()
		awaitMoreHandled(t, h, 200)
		ended := h.Fault("edge cut off")
		r.setCut(true)
		for range 3 {
			before := h.Unhandled()
			await(t, "the edge accepts messages while it is cut off", func() bool { return h.Unhandled() >= before+100 })
			time.Sleep(cutFor / 3)
			edge.kill()
			edge.start()
		}
		t.Logf("%d messages wait in the spool", h.Unhandled())
		r.setCut(false)
		await(t, "the edge catches up", func() bool { return h.Unhandled() < 50 })
		ended()
		edge.kill()
		config.Drain = true
		newRole(t, "edge-drain", roleEdge, config).start()
		awaitHandled(t, h)
		verify(t, h)
	})
}
