package ferry_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wallClock has the files of the node that keep the wall clock's time as a number, and why. Durations are kept as clock.Now or
// time.Time instead: a step of the system's clock does not change them.
var wallClock = map[string]string{
	"node/admin/certificatemetrics.go": "a metric",
	"node/admin/functionmetrics.go":    "a metric",
	"node/admin/reloadmetrics.go":      "a metric",
	"node/admin/storedroutes.go":       "the time at which a durable begins",
	"node/live/source.go":              "the time of a sensor's event",
	"node/vitals.go":                   "it finds steps of the clock",
	"internal/clock/timeline.go":       "windows of wall time, whose state outlives the process",
	"internal/clock/clock.go":          "the time at which the process started",
	"internal/peer/frame_writer.go":    "the time in a frame",
	"engine/file/stream.go":            "the stored time of a record",
	"engine/memory/cursor.go":          "retention counts from the stored time of a record",
	"engine/memory/stream.go":          "the stored time of a record",
	"engine/nats/direct.go":            "the stored time of a record",
	"engine/nats/restore.go":           "the age of a record that is copied",
	"stream/batch.go":                  "the time in a frame",
	"stream/from.go":                   "a subscription from a time on",
	"broker/receiver.go":               "the latency of a message, whose time another machine has set",
	"edge/mqtt/deliver.go":             "what is left of a message's expiry, which may have been stored by another process",
	"edge/mqtt/retained.go":            "the time of a retained message",
	"stream/operator/run.go":           "the start of a run: the rest is elapsed time",
	"stream/pipeline/window.go":        "a time in a message",
	"link/spool/append.go":             "the time at which a message was published, for another process",
	"edge/web/subscriber.go":           "a subscription from a time on",
}

// TestWallClock finds files that keep the wall clock's time as a number and have no row in wallClock.
func TestWallClock(t *testing.T) {
	found := map[string]bool{}
	for _, dir := range []string{"broker", "cpu", "edge", "engine", "internal", "link", "loop", "node", "proxy", "rpc", "stream", "transport"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			reads := func(call string) bool { return bytes.Contains(text, []byte(call)) }
			if slices.ContainsFunc([]string{".UnixNano()", ".UnixMicro()", ".UnixMilli()", ".Unix()"}, reads) {
				found[filepath.ToSlash(path)] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for file := range found {
		if wallClock[file] == "" {
			t.Errorf("%s keeps the wall clock's time as a number: use clock.Now for a duration, or add the file and the reason to wallClock", file)
		}
	}
	for file := range wallClock {
		if !found[file] {
			t.Errorf("%s is in wallClock and does not keep the wall clock's time: remove the row", file)
		}
	}
}
