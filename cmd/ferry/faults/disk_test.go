//go:build linux

package faults

import (
	"net/http"
	"strings"
	"testing"

	"example.com/ferry/internal/disktest"
)

// TestDiskFull fills the disk of a node: what is not stored goes on.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	disk := disktest.Mount(t, disktest.Config{})
	s := newServer(t, disk.Dir)
	s.start()
	l := startLoads(s)
	before := disk.SetCapacity(disk.Used())
	l.unharmed(func() {
		s.named("messages wait to be stored")
		s.named("cannot write the access log")
		s.await("/ready names the stream", func() bool {
			status, body := s.get("/ready")
			return status == http.StatusOK && strings.HasPrefix(body, `ready, but stream "orders"`)
		})
		if s.metric(`ferry_stream_store_failing{stream="orders"}`) != 1 {
			t.Error("the metric says that messages are stored")
		}
		l.progress("on a full disk", http1, http2, live, devices, calls)
	}, http1, http2, live, devices, calls)
	disk.SetCapacity(before)
	l.progress("with space again", kinds...)
	s.await("/ready", func() bool {
		_, body := s.get("/ready")
		return body == "ready"
	})
	l.settle()
}
