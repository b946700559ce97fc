//go:build linux

package proof

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/disktest"
	"example.com/ferry/internal/history"
	"example.com/ferry/stream"
)

// onDisk starts a node whose data directory is on a disk of the test.
func onDisk(t *testing.T, d *disktest.Disk, sync string) *runningNode {
	t.Helper()
	return startNode(t, nodeConfig{
		name: "node", dataDir: filepath.Join(d.Dir, "data"), engine: "{address: embedded, " + sync + "}",
		streams: "[{name: orders, tags: orders/#, delivery: at-least-once, redelivery: {backoff: [50ms], wait: 5s}}]",
	})
}

// handleAll runs a function of a durable in this process.
func handleAll(t *testing.T, n *runningNode, h *history.History, durable string) {
	t.Helper()
	running, err := n.client(durable).Start(t.Context(), stream.Function{
		Observe: []string{"orders/#"},
		Durable: durable,
		From:    stream.FromFirst(),
		Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
			key, number, err := parseMessage(in)
			if err != nil {
				t.Errorf("a damaged message is delivered: %v", err)
				return nil
			}
			h.Handled(key, number, durable)
			return nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Stop)
}

// TestPowerFailure kills a node and drops what it had not synced. With sync always no stored message may be lost. With sync
// interval, only those that were stored within the interval before the failure may be.
func TestPowerFailure(t *testing.T) {
	for _, row := range []struct {
		name, sync string
		interval   time.Duration
		settles    time.Duration // long where nothing may be lost: then no test waits for it
	}{
		{"always", "sync: always", 0, time.Minute},
		{"interval", "sync: interval, interval: 500ms", 500 * time.Millisecond, 10 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := random(t)
			disk := disktest.Mount(t, disktest.Config{})
			n := onDisk(t, disk, row.sync)
			h, audit := new(history.History), new(history.History) // audit begins to read after the last failure
			handleAll(t, n, h, "workers")
			l := startLoad(t, histories{h, audit}, n.client("publisher"), "k", 16, 256)
			l.awaitStored(100)
			var failures []time.Time
			for i := range powerFailures {
				time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
				ended := h.Fault(fmt.Sprintf("power failure %d", i+1))
				failures = append(failures, time.Now())
				n.kill()
				t.Logf("%d: %d bytes are lost, after %d syncs", i+1, disk.LosePower(), disk.Syncs())
				n.start()
				n.awaitReady()
				l.awaitStored(100)
				awaitMoreHandled(t, h, 100)
				ended()
			}
			l.wait()
			handleAll(t, n, audit, "auditors")
			for _, h := range []*history.History{h, audit} {
				awaitSettled(t, h, row.settles)
				report := h.Check()
				t.Log(report)
				for _, v := range report.Violations {
					if v.Kind != history.Lost || row.interval == 0 || !lostWithin(failures, v.Stored, row.interval) {
						t.Error(v)
					}
				}
			}
		})
	}
}

// lostWithin reports whether a message was stored at most interval before one of the failures. The node's clock and ours are the
// same, but the node syncs later than it is due, by more on a busy machine.
func lostWithin(failures []time.Time, stored time.Time, interval time.Duration) bool {
	for _, f := range failures {
		if before := f.Sub(stored); before >= -time.Second && before <= interval+2*time.Second {
			return true
		}
	}
	return false
}

// TestUnsyncedMessagesAreLost is a control: a disk that syncs only every ten minutes loses messages in a power failure, and the
// History says so.
func TestUnsyncedMessagesAreLost(t *testing.T) {
	disk := disktest.Mount(t, disktest.Config{})
	n := onDisk(t, disk, "sync: interval, interval: 10m")
	h := new(history.History)
	l := startLoad(t, h, n.client("publisher"), "k", 4, 256)
	l.awaitStored(100)
	l.wait()
	n.kill()
	disk.LosePower()
	n.start()
	n.awaitReady()
	handleAll(t, n, h, "workers")
	awaitSettled(t, h, 5*time.Second)
	report := h.Check()
	t.Log(report)
	if report.Count(history.Lost) == 0 {
		t.Error("no message is lost, though the disk has lost what was not synced")
	}
}

// TestFullDisk publishes until the disk is full. Publishers wait then, the node says why, and all goes on when there is room.
func TestFullDisk(t *testing.T) {
	for _, row := range []struct {
		name string
		left int64 // bytes that are left when the disk becomes full
	}{
		{"little is left", 2 << 20},
		{"nothing is left", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			disk := disktest.Mount(t, disktest.Config{})
			n := onDisk(t, disk, "sync: always")
			h := new(history.History)
			handleAll(t, n, h, "workers")
			l := startLoad(t, h, n.client("publisher"), "k", 8, 4096)
			l.awaitStored(100)
			ended := h.Fault("full disk")
			capacity := disk.SetCapacity(disk.Used() + row.left)
			await(t, "the publishers wait", func() bool {
				before := l.stored.Load()
				time.Sleep(500 * time.Millisecond)
				return l.stored.Load() == before
			})
			await(t, "the node says that the disk is full", func() bool { return n.output.contains("is full") })
			if !n.ready() {
				t.Error("the node is not ready while its disk is full")
			}
			disk.SetCapacity(capacity)
			l.awaitStored(200)
			awaitMoreHandled(t, h, 100)
			ended()
			l.wait()
			awaitHandled(t, h)
			verify(t, h)
		})
	}
}
