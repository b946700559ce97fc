//go:build linux

package proof

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/disktest"
	"example.com/ferry/internal/history"
)

// flipBit damages one bit in the middle of the first segment of the stream orders.
func flipBit(t *testing.T, d *disktest.Disk) {
	t.Helper()
	var segments []string
	err := filepath.WalkDir(d.Dir, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".log" && strings.Contains(path, "/orders/") {
			segments = append(segments, path)
		}
		return err
	})
	if err != nil || len(segments) == 0 {
		t.Fatalf("no segment of the stream is found: %v", err)
	}
	info, err := os.Stat(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	name, err := filepath.Rel(d.Dir, segments[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Flip(name, info.Size()/2); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s is damaged at offset %d of %d", name, info.Size()/2, info.Size())
}

// TestDamagedBlock flips a bit in a stored segment. The node reports the damaged records and delivers the others.
func TestDamagedBlock(t *testing.T) {
	disk := disktest.Mount(t, disktest.Config{})
	n := onDisk(t, disk, "sync: always")
	client := n.client("publisher")
	h := new(history.History)
	l := startLoad(t, h, client, "k", 4, 4096)
	l.awaitStored(200)
	l.wait()
	n.stop()
	flipBit(t, disk)
	n.start()
	n.awaitReady()
	handleAll(t, n, h, "workers")
	await(t, "the node says that a record is damaged", func() bool { return n.output.contains("damaged") })
	awaitSettled(t, h, 10*time.Second)
	report := h.Check()
	t.Log(report)
	lost := report.Count(history.Lost)
	if lost == 0 || lost > 5 || len(report.Violations) != lost {
		t.Errorf("%d messages are lost with one damaged record, and %d other violations", lost, len(report.Violations)-lost)
	}
}
