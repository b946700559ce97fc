package http2

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"

	wire "example.com/ferry/protocol/http2"
)

const large = 1 << 20

// A client that does not read holds back its own stream. Another stream of the same connection continues.
func TestSlowClient(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		body := strings.Repeat("x", large)
		server := (&scriptedServer{head: func(c *scriptedConn, s *wire.Stream, _ *wire.Head, _ bool) { c.respond(s, 200, body) }}).start(t)
		r := startUpstream(t, c, route.Rule{}, oneConnection(server.addr))
		slow := r.begin(getHead, true, func(relay *exchange.Relay) { relay.Downstream().(*proxytest.Downstream).Full = true })
		if d := r.begin(getHead, true, nil).wait(); d.Body.Len() != large {
			t.Errorf("the quick client got %d bytes, want %d", d.Body.Len(), large)
		}
		received := 0
		slow.do(func() { received = slow.Body.Len() })
		if received > wire.DefaultStreamWindow {
			t.Errorf("the slow client got %d bytes, want no more than the window, %d", received, wire.DefaultStreamWindow)
		}
		slow.do(slow.Drain)
		if d := slow.wait(); d.Body.String() != body {
			t.Errorf("the slow client got %d bytes in the end, want %d", d.Body.Len(), large)
		}
		r.idle()
	})
}

// A server that does not read a request holds back its own stream. Another stream of the same connection continues.
func TestSlowServer(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		var slowStream *wire.Stream
		slow := make(chan *scriptedConn, 1)
		withheld, total := 0, 0
		server := (&scriptedServer{
			head: func(c *scriptedConn, s *wire.Stream, h *wire.Head, _ bool) {
				if string(h.Path) == "/slow" {
					slowStream = s
					slow <- c
				}
			},
			data: func(c *scriptedConn, s *wire.Stream, p []byte, end bool) {
				if s == slowStream {
					total += len(p)
					if withheld >= 0 {
						withheld += len(p)
						return
					}
				}
				s.Consumed(len(p))
				if end {
					c.respond(s, 200, "done")
				}
			},
		}).start(t)
		r := startUpstream(t, c, route.Rule{}, oneConnection(server.addr))
		head := *postHead
		head.Target = "/slow"
		one := r.begin(&head, false, nil)
		piece := strings.Repeat("x", 32<<10)
		full := false
		for !full {
			one.do(func() {
				if full = !one.CanSend(); !full {
					one.Send([]byte(piece))
				}
			})
		}
		two := r.begin(postHead, false, nil)
		two.send(piece, piece, piece, piece, piece, piece)
		two.do(func() { two.End(nil) })
		if d := two.wait(); d.Body.String() != "done" {
			t.Errorf("the second request: status %d", d.Status)
		}
		conn := <-slow
		conn.do(func() {
			slowStream.Consumed(withheld)
			withheld = -1
		})
		one.send(piece)
		one.do(func() { one.End(nil) })
		d := one.wait()
		r.idle()
		server.mu.Lock()
		defer server.mu.Unlock()
		if d.Body.String() != "done" || int64(total) != d.BodyRead() {
			t.Errorf("status %d, the server got %d bytes of %d", d.Status, total, d.BodyRead())
		}
	})
}

// A body waits for the server's SETTINGS: net/http resets a stream whose client sends more than a window below the default one.
func TestSmallWindow(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		server := proxytest.ServeHTTP2(t, &http.HTTP2Config{MaxReceiveBufferPerStream: 16 << 10}, proxytest.EchoHTTP)
		r := startUpstream(t, c, route.Rule{}, proxytest.Cluster("web", server))
		body := strings.Repeat("x", 60<<10)
		call := r.begin(postHead, false, nil)
		call.send(body)
		call.do(func() { call.End(nil) })
		if d := call.wait(); d.Status != 200 || d.Body.String() != body {
			t.Errorf("status %d, %d bytes, want 200 and the request's body", d.Status, d.Body.Len())
		}
		r.idle()
	})
}

// Requests beyond the server's limit of streams wait, or go to another connection.
func TestStreamLimits(t *testing.T) {
	for _, row := range []struct {
		name        string
		cluster     upstream.Config
		perConn     int   // MAX_CONCURRENT_STREAMS of the server
		conns       int64 // connections in the end
		waiting     int64 // requests that wait at first
		unavailable int   // requests that are refused
	}{
		{"one connection", upstream.Config{Connections: 1}, 2, 1, 6, 0},
		{"two connections", upstream.Config{Connections: 2}, 2, 2, 4, 0},
		{"limit of the cluster", upstream.Config{Connections: 4, Limits: upstream.Limits{Connections: 1}}, 2, 1, 6, 0},
		{"limit of waiting", upstream.Config{Connections: 1, Limits: upstream.Limits{Waiting: 5}}, 2, 1, 5, 1},
		{"streams", upstream.Config{Connections: 3, Streams: 2}, 100, 3, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
				server := (&scriptedServer{
					config: wire.Config{MaxStreams: row.perConn},
					head: func(c *scriptedConn, s *wire.Stream, h *wire.Head, end bool) {
						if end {
							c.respond(s, 200, "warm")
						}
					},
					data: func(c *scriptedConn, s *wire.Stream, p []byte, _ bool) { c.respond(s, 200, string(p)) },
				}).start(t)
				row.cluster.Name, row.cluster.Endpoints = "web", []upstream.EndpointConfig{{Address: server.addr}}
				r := startUpstream(t, c, route.Rule{}, row.cluster)
				r.begin(getHead, true, nil).wait() // the server's limit is known afterwards
				var calls []*call
				unavailable := 0
				for range 8 {
					call := r.begin(postHead, false, nil)
					call.do(func() {
						if call.Rejected != nil && *call.Rejected == exchange.Unavailable {
							unavailable++
						}
					})
					if call.Rejected == nil {
						calls = append(calls, call)
					}
					if row.perConn < 100 {
						r.ready()
					}
				}
				if n := r.plan.Clusters[0].Snapshot().Waiting; n != row.waiting || unavailable != row.unavailable {
					t.Errorf("%d requests wait, %d are refused; want %d and %d", n, unavailable, row.waiting, row.unavailable)
				}
				for _, call := range calls {
					call.send("body")
					call.do(func() { call.End(nil) })
					if d := call.wait(); d.Body.String() != "body" {
						t.Errorf("status %d, body %q", d.Status, d.Body.String())
					}
				}
				if s := r.idle(); s.Endpoints[0].Conns != row.conns {
					t.Errorf("%d connections, want %d", s.Endpoints[0].Conns, row.conns)
				}
			})
		})
	}
}

// A client leaves while its request waits for a stream. The next request gets the stream.
func TestCancelWhileWaiting(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		server := (&scriptedServer{config: wire.Config{MaxStreams: 1}, data: func(c *scriptedConn, s *wire.Stream, p []byte, _ bool) {
			c.respond(s, 200, string(p))
		}}).start(t)
		r := startUpstream(t, c, route.Rule{}, oneConnection(server.addr))
		first := r.begin(postHead, false, nil)
		r.ready()
		second, third := r.begin(postHead, false, nil), r.begin(postHead, false, nil)
		second.do(second.Leave)
		first.send("1")
		first.do(func() { first.End(nil) })
		third.send("3")
		third.do(func() { third.End(nil) })
		if one, three := first.wait(), third.wait(); one.Body.String() != "1" || three.Body.String() != "3" {
			t.Errorf("bodies %q and %q", one.Body.String(), three.Body.String())
		}
		r.idle()
	})
}

func TestInterimResponses(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		server := (&scriptedServer{
			head: func(c *scriptedConn, s *wire.Stream, h *wire.Head, _ bool) {
				if h.Expect {
					c.respond(s, 100, "")
				}
			},
			data: func(c *scriptedConn, s *wire.Stream, p []byte, end bool) {
				if end {
					c.respond(s, 103, "", "link", "</a>")
					c.respond(s, 200, "done")
				}
			},
		}).start(t)
		r := startUpstream(t, c, route.Rule{}, proxytest.Cluster("web", server.addr))
		call := r.begin(&proxytest.RequestHead{MethodName: "PUT", Host: "a", Target: "/", Length: 4, Expect: true}, false, nil)
		proxytest.Eventually(t, "100 Continue arrives", func() bool {
			return proxytest.OnLoop(t, r.loop, func() bool { return len(call.Interims) == 1 })
		})
		call.send("body")
		call.do(func() { call.End(nil) })
		if d := call.wait(); d.Body.String() != "done" || len(d.Interims) != 2 || d.Interims[1] != 103 {
			t.Errorf("body %q, interim responses %v", d.Body.String(), d.Interims)
		}
		r.idle()
	})
}

// A connection without streams is closed after idle_timeout, and when its cluster is retired. A connection with a stream is
// closed when the stream has ended.
func TestEndOfConnections(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		server := (&scriptedServer{
			head: func(c *scriptedConn, s *wire.Stream, _ *wire.Head, end bool) {
				if end {
					c.respond(s, 200, "done")
				}
			},
			data: func(c *scriptedConn, s *wire.Stream, p []byte, _ bool) { c.respond(s, 200, string(p)) },
		}).start(t)
		for _, idle := range []time.Duration{proxytest.Brief, -1} {
			cluster := proxytest.Cluster("web", server.addr)
			cluster.IdleTimeout = idle
			r := startUpstream(t, c, route.Rule{}, cluster)
			r.begin(getHead, true, nil).wait()
			if idle > 0 {
				proxytest.Eventually(t, "the idle connection is closed", func() bool { return r.idle().Endpoints[0].Conns == 0 })
			}
			call := r.begin(postHead, false, nil)
			r.plan.Clusters[0].Close()
			call.send("body")
			call.do(func() { call.End(nil) })
			if d := call.wait(); d.Body.String() != "body" {
				t.Errorf("status %d, body %q", d.Status, d.Body.String())
			}
			proxytest.Eventually(t, "the connection of a retired cluster is closed", func() bool { return len(r.conns()) == 0 })
		}
	})
}

// A server whose streams are silent gets PING. If it acknowledges none of three, its connection is closed.
func TestHeartbeat(t *testing.T) {
	for _, silent := range []bool{false, true} {
		t.Run(map[bool]string{false: "acknowledged", true: "silent"}[silent], func(t *testing.T) {
			proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
				var conn *scriptedConn
				var stream *wire.Stream
				opened := make(chan bool, 1)
				server := (&scriptedServer{head: func(c *scriptedConn, s *wire.Stream, _ *wire.Head, _ bool) {
					conn, stream = c, s
					c.mute = silent
					opened <- true
				}}).start(t)
				cluster := proxytest.Cluster("web", server.addr)
				cluster.Heartbeat = 20 * time.Millisecond
				r := startUpstream(t, c, route.Rule{}, cluster)
				call := r.begin(postHead, true, nil)
				<-opened
				if silent {
					if d := call.wait(); d.Rejected == nil || *d.Rejected != exchange.BadGateway {
						t.Errorf("rejected %v", d.Rejected)
					}
					r.idle()
					return
				}
				proxytest.Eventually(t, "two PINGs are acknowledged", func() bool {
					return proxytest.OnLoop(t, r.loop, func() bool {
						for _, h := range r.loop.All() {
							if sc, ok := h.(*serverConn); ok && sc.pingGap >= 16*cluster.Heartbeat && sc.readAt >= sc.pingAt {
								return true
							}
						}
						return false
					})
				})
				conn.do(func() { conn.respond(stream, 200, "late") })
				if d := call.wait(); d.Body.String() != "late" {
					t.Errorf("status %d, body %q", d.Status, d.Body.String())
				}
				r.idle()
			})
		})
	}
}
