package http2

import (
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/proxytest"

	wire "example.com/ferry/protocol/http2"
)

// TestEndOfBodies: END_STREAM passes from one side of HTTP/2 to the other within the last DATA frame, in both directions. Behind it
// comes an empty frame only if it came in one.
func TestEndOfBodies(t *testing.T) {
	for name, empty := range map[string]bool{"in the last frame": false, "in an empty frame": true} {
		t.Run(name, func(t *testing.T) {
			write := func(s *wire.Stream, body string) {
				s.Write([]byte(body), !empty)
				s.Write(nil, true) // nothing, if the end is written
			}
			received := make(chan bool, 1)
			server := (&scriptedServer{data: func(_ *scriptedConn, s *wire.Stream, p []byte, end bool) {
				if !end {
					return
				}
				received <- len(p) == 0
				e := s.BeginHeaders()
				e.Status(200)
				e.End(false)
				write(s, "response")
				s.Release()
			}}).start(t)
			r := start(t, setup{servers: []string{server.addr}, connector: NewConnector(1), loop: loop.Config{Loops: 1}})
			p := newPeer(t, r.addr)
			p.settle()
			for range 2 { // the first request waits for the server's SETTINGS
				s, x := p.request("POST", "/", false)
				write(s, "request")
				p.over(x)
				if string(x.body) != "response" || x.emptyEnd != empty {
					t.Errorf("status %d, body %q, an empty frame at the end: %v, want %v", x.status, x.body, x.emptyEnd, empty)
				}
				if <-received && !empty {
					t.Error("the server gets an empty frame behind the body")
				}
				s.Release()
			}
			proxytest.Eventually(t, "no request is in progress", func() bool { return r.plan.Clusters[0].Snapshot().Active == 0 })
		})
	}
}
