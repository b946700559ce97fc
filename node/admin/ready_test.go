package admin

import (
	"sync/atomic"
	"testing"

	"example.com/ferry/proxy/overload"
)

// TestReadyTellsTheOverload: /ready names the level. It is 503 only while new connections are refused: taking an endpoint out
// earlier would move its load to others.
func TestReadyTellsTheOverload(t *testing.T) {
	var level atomic.Uint32
	s, url := start(t, Config{Overload: func() overload.Level { return overload.Level(level.Load()) }})
	for _, row := range []struct {
		ready  bool
		level  overload.Level
		status int
		body   string
	}{
		{true, overload.Normal, 200, "ready"},
		{true, overload.Shrinking, 200, "ready, but overloaded: shrinking"},
		{true, overload.RefusingRequests, 200, "ready, but overloaded: refusing requests"},
		{true, overload.RefusingConnections, 503, "not ready: overloaded, refusing connections"},
		{false, overload.Shrinking, 503, "not ready: starting or draining"},
	} {
		s.SetReady(row.ready)
		level.Store(uint32(row.level))
		if status, body := do(t, "GET", url+"/ready"); status != row.status || body != row.body+"\n" {
			t.Errorf("level %v: %d %q, want %d %q", row.level, status, body, row.status, row.body)
		}
	}
}
