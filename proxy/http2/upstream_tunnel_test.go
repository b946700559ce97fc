package http2

import (
	"strings"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"

	wire "example.com/ferry/protocol/http2"
)

var tunnelHead = &proxytest.RequestHead{
	MethodName: "GET", Host: "a", Target: "/chat?x", Length: -1, Protocol: "websocket",
	Fields: proxytest.Fields{{Name: "Sec-WebSocket-Key", Value: "k"}, {Name: "Upgrade", Value: "websocket"}, {Name: "Sec-WebSocket-Version", Value: "13"}},
}

func asTunnel(r *exchange.Relay) { r.Changes.Upgrade = true }

// A request for a tunnel becomes extended CONNECT. Bytes pass in both directions until the server ends its side.
func TestTunnel(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		server := (&scriptedServer{
			config: wire.Config{ExtendedConnect: true},
			head: func(c *scriptedConn, s *wire.Stream, h *wire.Head, end bool) {
				seen := []string{string(h.Method), string(h.Protocol), string(h.Scheme), string(h.Authority), string(h.Path)}
				h.All(func(name, _ []byte) bool { seen = append(seen, string(name)); return true })
				e := s.BeginHeaders()
				e.Status(200)
				e.FieldString("x-seen", strings.Join(seen, " "))
				e.End(false)
			},
			data: func(c *scriptedConn, s *wire.Stream, p []byte, end bool) {
				s.Write(p, end)
				s.Consumed(len(p))
			},
		}).start(t)
		r := startUpstream(t, c, route.Rule{}, proxytest.Cluster("web", server.addr))
		call := r.begin(tunnelHead, false, asTunnel)
		proxytest.Eventually(t, "the server accepts the tunnel", func() bool {
			return proxytest.OnLoop(t, r.loop, func() bool { return call.Status == 200 })
		})
		call.send("there ", "and ")
		proxytest.Eventually(t, "the bytes return", func() bool {
			return proxytest.OnLoop(t, r.loop, func() bool { return call.Body.String() == "there and " })
		})
		call.send("back")
		call.do(func() { call.End(nil) })
		d := call.wait()
		if got, want := string(d.Fields.Get("x-seen")), "CONNECT websocket http a /chat?x sec-websocket-version"; got != want {
			t.Errorf("the server saw %q, want %q", got, want)
		}
		if d.Body.String() != "there and back" {
			t.Errorf("got %q back", d.Body.String())
		}
		options := *tunnelHead
		options.MethodName, options.Target = "OPTIONS", "" // OPTIONS * in HTTP/1.1; * is no path of CONNECT
		call = r.begin(&options, false, asTunnel)
		call.do(func() { call.End(nil) })
		if got := string(call.wait().Fields.Get("x-seen")); !strings.HasPrefix(got, "CONNECT websocket http a / ") {
			t.Errorf("OPTIONS *: the server saw %q", got)
		}
		r.idle()
	})
}

// A server that does not announce extended CONNECT gets no tunnel, but other requests. The server is not at fault.
func TestTunnelRefused(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		server := (&scriptedServer{head: func(c *scriptedConn, s *wire.Stream, h *wire.Head, _ bool) { c.respond(s, 200, string(h.Path)) }}).start(t)
		r := startUpstream(t, c, route.Rule{}, proxytest.Cluster("web", server.addr))
		for range 2 {
			if d := r.begin(tunnelHead, false, asTunnel).wait(); d.Rejected == nil || *d.Rejected != exchange.BadGateway {
				t.Errorf("rejected %v, want a bad gateway", d.Rejected)
			}
		}
		if d := r.begin(getHead, true, nil).wait(); d.Body.String() != "/" {
			t.Errorf("status %d, body %q", d.Status, d.Body.String())
		}
		if s := r.idle(); s.Endpoints[0].Outcomes[upstream.Canceled] != 2 || s.Endpoints[0].Conns != 1 {
			t.Errorf("%+v, want two attempts that do not count", s.Endpoints[0])
		}
	})
}

// A tunnel waits for the SETTINGS of its server. If the connection fails before that, the request fails, too.
func TestTunnelToADeadServer(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		closes := (&scriptedServer{accepted: func(c *scriptedConn) { c.conn.Close() }}).start(t)
		for server, want := range map[string]exchange.Rejection{proxytest.DeadAddr(t): exchange.Unavailable, closes.addr: exchange.BadGateway} {
			r := startUpstream(t, c, route.Rule{}, proxytest.Cluster("web", server))
			if d := r.begin(tunnelHead, false, asTunnel).wait(); d.Rejected == nil || *d.Rejected != want {
				t.Errorf("rejected %v, want %v", d.Rejected, want)
			}
			r.idle()
		}
	})
}
