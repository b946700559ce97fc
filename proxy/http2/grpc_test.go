package http2

import (
	"strings"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/proxytest"

	wire "example.com/ferry/protocol/http2"
)

// TestCallsThatEndEarly: a gRPC client sees CANCELLED if the server cancels its call, and DEADLINE_EXCEEDED if the server does not
// respond within grpc-timeout. Within a response, its stream is reset with CANCEL in both cases.
func TestCallsThatEndEarly(t *testing.T) {
	begun := func(s *wire.Stream) {
		e := s.BeginHeaders()
		e.Status(200)
		e.FieldString("content-type", "application/grpc")
		e.End(false)
	}
	for _, row := range []struct {
		name  string
		serve func(*wire.Stream)
		want  string // grpc-status, or the code of the reset
	}{
		{"canceled", func(s *wire.Stream) { s.Reset(wire.Cancel) }, "1"},
		{"reset", func(s *wire.Stream) { s.Reset(wire.InternalError) }, "14"},
		{"canceled within the response", func(s *wire.Stream) { begun(s); s.Reset(wire.Cancel) }, "CANCEL"},
		{"reset within the response", func(s *wire.Stream) { begun(s); s.Reset(wire.InternalError) }, "INTERNAL_ERROR"},
		{"late", func(*wire.Stream) {}, "4"},
		{"late within the response", begun, "CANCEL"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := (&scriptedServer{head: func(_ *scriptedConn, s *wire.Stream, _ *wire.Head, _ bool) { row.serve(s) }}).start(t)
			r := start(t, setup{servers: []string{server.addr}, connector: NewConnector(1), loop: loop.Config{Loops: 1}})
			timeout := "10S"
			if strings.HasPrefix(row.name, "late") {
				timeout = "50m"
			}
			p := newPeer(t, r.addr)
			s, x := p.request("POST", "/", true, "content-type", "application/grpc", "te", "trailers", "grpc-timeout", timeout)
			p.over(x)
			got := string(x.fields.Get("grpc-status"))
			if x.reset != nil {
				got = x.reset.Code.String()
			}
			if got != row.want {
				t.Errorf("status %d, fields %v, reset %v; want %s", x.status, x.fields, x.reset, row.want)
			}
			s.Release()
			proxytest.Eventually(t, "no request is in progress", func() bool { return r.plan.Clusters[0].Snapshot().Active == 0 })
		})
	}
}
