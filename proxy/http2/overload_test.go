package http2

import (
	"log/slog"
	"testing"

	"example.com/ferry/proxy/overload"
)

// noActions are the actions of a Manager in a test that needs its State only.
type noActions struct{}

func (noActions) Shrink(bool) (done bool) { return true }
func (noActions) CloseIdle(int)           {}

// TestOverloadEndsConnections: while resources are short, a connection ends after the requests that it carries.
func TestOverloadEndsConnections(t *testing.T) {
	r := start(t, setup{rules: fixed})
	zero, almostAll, all := func() int64 { return 0 }, func() int64 { return 99 }, func() int64 { return 100 }
	m := overload.New(&overload.Config{LoopLatency: -1}, overload.Process{Memory: zero, Connections: almostAll, MaxConnections: all}, noActions{}, slog.New(slog.DiscardHandler))
	go m.Run(t.Context())
	r.eventually("overload", m.State().EndsKeepAlive)
	r.plan.Overload = m.State()
	r.service.Use(&Config{}, r.plan)
	p := newPeer(t, r.addr)
	_, x := p.request("GET", "/", true)
	p.over(x)
	p.closed()
	if x.status != 200 || len(p.goAway) != 2 || p.last != 1 {
		t.Errorf("%d, GOAWAY %v, last %d; want 200, two, and 1", x.status, p.goAway, p.last)
	}
}
