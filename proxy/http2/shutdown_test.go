package http2

import (
	"context"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"

	wire "example.com/ferry/protocol/http2"
)

// A connection to a server that is dialed after Shutdown is closed with its last stream. Shutdown would wait for it.
func TestShutdownAfterLateDial(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		var held *scriptedConn
		var stream *wire.Stream
		server := (&scriptedServer{head: func(c *scriptedConn, s *wire.Stream, _ *wire.Head, _ bool) {
			if held == nil {
				held, stream = c, s
				return
			}
			c.respond(s, 200, "late")
		}}).start(t)
		cluster := proxytest.Cluster("web", server.addr)
		cluster.Connections, cluster.Streams = 2, 1
		r := startUpstream(t, c, route.Rule{}, cluster)
		one := r.begin(getHead, true, nil)
		proxytest.Eventually(t, "the first request arrives", func() bool {
			server.mu.Lock()
			defer server.mu.Unlock()
			return held != nil
		})
		ended := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), proxytest.Patience)
			defer cancel()
			ended <- r.Group.Shutdown(ctx)
		}()
		proxytest.Eventually(t, "the loop is stopping", func() bool { return proxytest.OnLoop(t, r.loop, r.loop.Stopping) })
		if d := r.begin(getHead, true, nil).wait(); d.Status != 200 || d.Body.String() != "late" {
			t.Errorf("status %d, body %q", d.Status, d.Body.String())
		}
		proxytest.Eventually(t, "the late connection is closed", func() bool { return len(r.conns()) == 1 })
		held.do(func() { held.respond(stream, 200, "held") })
		if d := one.wait(); d.Status != 200 || d.Body.String() != "held" {
			t.Errorf("status %d, body %q", d.Status, d.Body.String())
		}
		if err := <-ended; err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
}
