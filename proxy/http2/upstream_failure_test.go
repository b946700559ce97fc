package http2

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"

	wire "example.com/ferry/protocol/http2"
)

var (
	getHead  = &proxytest.RequestHead{MethodName: "GET", Host: "a", Target: "/", Length: -1}
	postHead = &proxytest.RequestHead{MethodName: "POST", Host: "a", Target: "/", Length: -1}
)

// The server refuses the first stream with REFUSED_STREAM. The request is sent again, whatever its method.
func TestRefusedStream(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		refused := false
		server := (&scriptedServer{
			head: func(c *scriptedConn, s *wire.Stream, _ *wire.Head, end bool) {
				if !refused {
					refused = true
					s.Reset(wire.RefusedStream)
					s.Release()
				} else if end {
					c.respond(s, 200, "fine")
				}
			},
			data: func(c *scriptedConn, s *wire.Stream, p []byte, end bool) {
				if end {
					c.respond(s, 200, "fine")
				}
			},
		}).start(t)
		r := startUpstream(t, c, route.Rule{}, proxytest.Cluster("web", server.addr))
		call := r.begin(postHead, false, nil)
		call.send("body")
		call.do(func() { call.End(nil) })
		if d := call.wait(); d.Status != 200 || d.Body.String() != "fine" {
			t.Errorf("status %d, body %q", d.Status, d.Body.String())
		}
		if s := r.idle(); s.Endpoints[0].Outcomes[upstream.Reset] != 1 || s.Endpoints[0].Conns != 1 {
			t.Errorf("%+v: want one reset on one connection", s.Endpoints[0])
		}
	})
}

// TestRefusedStreamsBudget: of a server that refuses all streams because it is overloaded, the proxy asks little more than its clients do.
func TestRefusedStreamsBudget(t *testing.T) {
	const requests, most = 200, 200 + 200/5 + 3*10
	var streams atomic.Int64
	server := (&scriptedServer{head: func(_ *scriptedConn, s *wire.Stream, _ *wire.Head, _ bool) {
		streams.Add(1)
		s.Reset(wire.RefusedStream)
		s.Release()
	}}).start(t)
	r := startUpstream(t, loop.Config{Loops: 1}, route.Rule{}, proxytest.Cluster("web", server.addr))
	for range requests {
		if d := r.begin(getHead, true, nil).wait(); d.Rejected == nil || *d.Rejected != exchange.Unavailable {
			t.Fatalf("got status %d, %v", d.Status, d.Rejected)
		}
	}
	if n := streams.Load(); n > most || n <= requests {
		t.Errorf("the server got %d streams for %d requests, want more than these and at most %d", n, requests, most)
	}
}

// The server refuses the stream again when the request is sent again: it has processed nothing, so it is unavailable.
func TestRefusedStreamTwice(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		server := (&scriptedServer{
			head: func(_ *scriptedConn, s *wire.Stream, _ *wire.Head, _ bool) {
				s.Reset(wire.RefusedStream)
				s.Release()
			},
			data: func(*scriptedConn, *wire.Stream, []byte, bool) {},
		}).start(t)
		r := startUpstream(t, c, route.Rule{}, proxytest.Cluster("web", server.addr))
		call := r.begin(postHead, false, nil)
		call.send("body")
		call.do(func() { call.End(nil) })
		if d := call.wait(); d.Rejected == nil || *d.Rejected != exchange.Unavailable {
			t.Errorf("rejected %v, want %v (503)", d.Rejected, exchange.Unavailable)
		}
		if s := r.idle(); s.Endpoints[0].Outcomes[upstream.Reset] != 2 {
			t.Errorf("%+v: want two resets", s.Endpoints[0])
		}
	})
}

// GOAWAY lets the first stream finish. The second one is above the last id, so its request goes to another connection.
func TestGoAway(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		conns := 0
		var first *wire.Stream
		server := (&scriptedServer{
			accepted: func(*scriptedConn) { conns++ },
			head: func(c *scriptedConn, s *wire.Stream, _ *wire.Head, _ bool) {
				switch {
				case conns > 1:
					c.respond(s, 200, "second connection")
				case first == nil:
					first = s
					c.http2.GoAway(wire.NoError)
					c.http2.GoAway(wire.NoError) // with the id of the first stream
				}
			},
			data: func(c *scriptedConn, s *wire.Stream, _ []byte, _ bool) {
				if s == first {
					c.respond(s, 200, "first connection")
				}
			},
		}).start(t)
		r := startUpstream(t, c, route.Rule{}, proxytest.Cluster("web", server.addr))
		one := r.begin(postHead, false, nil)
		two := r.begin(postHead, true, nil)
		if d := two.wait(); d.Status != 200 || d.Body.String() != "second connection" {
			t.Errorf("second request: status %d, body %q", d.Status, d.Body.String())
		}
		one.send("body")
		one.do(func() { one.End(nil) })
		if d := one.wait(); d.Status != 200 || d.Body.String() != "first connection" {
			t.Errorf("first request: status %d, body %q", d.Status, d.Body.String())
		}
		proxytest.Eventually(t, "the first connection is closed", func() bool { return len(r.conns()) == 1 })
		if s := r.idle(); s.Endpoints[0].Outcomes[upstream.Reset] != 0 {
			t.Errorf("%+v: a server that goes away is not at fault", s.Endpoints[0])
		}
	})
}

// The end of a stream or of its connection is a failure of its request only.
func TestStreamFailures(t *testing.T) {
	half := func(s *wire.Stream) {
		e := s.BeginHeaders()
		e.Status(200)
		e.End(false)
		s.Write([]byte("half"), false)
	}
	for _, row := range []struct {
		name  string
		head  *proxytest.RequestHead
		serve func(*scriptedConn, *wire.Stream)
		want  string // status, or reset
		count upstream.Outcome
	}{
		{"reset", getHead, func(_ *scriptedConn, s *wire.Stream) { s.Reset(wire.InternalError) }, "502", upstream.Reset},
		{"reset within the response", getHead, func(_ *scriptedConn, s *wire.Stream) { half(s); s.Reset(wire.NoError) }, "reset", upstream.Reset},
		{"connection lost", postHead, func(c *scriptedConn, _ *wire.Stream) { c.conn.Close() }, "502", upstream.Reset},
		{"connection lost within the response", getHead, func(c *scriptedConn, s *wire.Stream) {
			half(s)
			_, _ = c.conn.Write(c.queue)
			c.queue = nil
			c.conn.Close()
		}, "reset", upstream.Reset},
		{"101", getHead, func(c *scriptedConn, s *wire.Stream) { c.respond(s, 101, "") }, "502", upstream.Failure},
		{"a body in the response to HEAD", &proxytest.RequestHead{MethodName: "HEAD", Host: "a", Target: "/", Length: -1}, func(c *scriptedConn, s *wire.Stream) { c.respond(s, 200, "x") }, "reset", upstream.Failure},
		{"a body with 204", getHead, func(c *scriptedConn, s *wire.Stream) { c.respond(s, 204, "x") }, "reset", upstream.Failure},
		{"no HTTP/2", getHead, func(c *scriptedConn, _ *wire.Stream) {
			c.queue = append(c.queue, "HTTP/1.1 400 Bad Request\r\n\r\n"...)
		}, "502", upstream.Reset},
	} {
		t.Run(row.name, func(t *testing.T) {
			proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
				server := (&scriptedServer{head: func(c *scriptedConn, s *wire.Stream, h *wire.Head, _ bool) {
					if string(h.Path) == "/good" {
						c.respond(s, 200, "good")
						return
					}
					row.serve(c, s)
				}}).start(t)
				r := startUpstream(t, c, route.Rule{}, proxytest.Cluster("web", server.addr))
				d := r.begin(row.head, true, nil).wait()
				got := "reset"
				if !d.WasReset {
					got = map[bool]string{true: "502", false: "200"}[d.Rejected != nil && *d.Rejected == exchange.BadGateway]
				}
				if got != row.want {
					t.Errorf("got %s, want %s", got, row.want)
				}
				if s := r.idle(); s.Endpoints[0].Outcomes[row.count] != 1 {
					t.Errorf("outcomes %v, want one %s", s.Endpoints[0].Outcomes, row.count)
				}
				good := *getHead
				good.Target = "/good"
				if d := r.begin(&good, true, nil).wait(); d.Body.String() != "good" {
					t.Errorf("afterwards: status %d, body %q", d.Status, d.Body.String())
				}
				r.idle()
			})
		})
	}
}

// A reused connection ends before the response. An idempotent request is sent again on a new connection.
func TestStaleConnection(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		conns, requests := 0, 0
		server := (&scriptedServer{
			accepted: func(*scriptedConn) { conns++ },
			head: func(c *scriptedConn, s *wire.Stream, _ *wire.Head, _ bool) {
				if requests++; conns == 1 && requests > 1 {
					c.conn.Close()
					return
				}
				c.respond(s, 200, "fine")
			},
		}).start(t)
		r := startUpstream(t, c, route.Rule{}, proxytest.Cluster("web", server.addr))
		for range 3 {
			if d := r.begin(getHead, true, nil).wait(); d.Status != 200 {
				t.Errorf("status %d, rejected %v", d.Status, d.Rejected)
			}
		}
		s := r.idle()
		server.mu.Lock()
		defer server.mu.Unlock()
		if s.Endpoints[0].Outcomes[upstream.Reset] != 0 || conns != 2 {
			t.Errorf("%+v after %d connections, want no reset and two", s.Endpoints[0], conns)
		}
	})
}

func TestConnectFailure(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		r := startUpstream(t, c, route.Rule{}, proxytest.Cluster("web", proxytest.DeadAddr(t)))
		for range 2 {
			if d := r.begin(getHead, true, nil).wait(); d.Rejected == nil || *d.Rejected != exchange.Unavailable {
				t.Errorf("rejected %v", d.Rejected)
			}
		}
		if s := r.idle(); s.Endpoints[0].Outcomes[upstream.ConnectFailure] != 2 || s.Endpoints[0].Conns != 0 {
			t.Errorf("%+v", s.Endpoints[0])
		}
	})
}

// The client leaves: the server gets RST_STREAM(CANCEL), and other streams of the connection continue.
func TestCancel(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		resets := make(chan error, 1)
		arrived := make(chan bool, 2)
		server := (&scriptedServer{
			head:  func(*scriptedConn, *wire.Stream, *wire.Head, bool) { arrived <- true },
			data:  func(c *scriptedConn, s *wire.Stream, p []byte, end bool) { c.respond(s, 200, string(p)) },
			reset: func(_ *scriptedConn, _ *wire.Stream, why wire.StreamError) { resets <- why },
		}).start(t)
		r := startUpstream(t, c, route.Rule{}, oneConnection(server.addr))
		leaves, stays := r.begin(postHead, false, nil), r.begin(postHead, false, nil)
		<-arrived
		<-arrived
		leaves.do(leaves.Leave)
		var why wire.StreamError
		if err := <-resets; !errors.As(err, &why) || why.Code != wire.Cancel {
			t.Errorf("the server got %v, want CANCEL", err)
		}
		stays.send("body")
		stays.do(func() { stays.End(nil) })
		if d := stays.wait(); d.Body.String() != "body" {
			t.Errorf("status %d, body %q", d.Status, d.Body.String())
		}
		r.idle()
		if n := len(r.conns()); n != 1 {
			t.Errorf("%d connections, want one", n)
		}
	})
}

// A response that is complete before its request is a normal end, also with RST_STREAM(NO_ERROR) behind it.
func TestResponseBeforeTheRequestIsComplete(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		server := (&scriptedServer{config: wire.Config{StreamWindow: 1000}, head: func(c *scriptedConn, s *wire.Stream, _ *wire.Head, _ bool) {
			c.respond(s, 413, "too large")
			s.Reset(wire.NoError)
			s.Release()
		}}).start(t)
		r := startUpstream(t, c, route.Rule{}, oneConnection(server.addr))
		for range 10 {
			call := r.begin(postHead, false, nil)
			call.do(func() {
				if call.CanSend() {
					call.Send([]byte(strings.Repeat("x", 100_000)))
				}
			})
			if d := call.wait(); d.Status != 413 || d.Body.String() != "too large" || d.WasReset {
				t.Errorf("status %d, body %q, reset %v", d.Status, d.Body.String(), d.WasReset)
			}
		}
		if s := r.idle(); s.Endpoints[0].Outcomes[upstream.Reset] != 0 || s.Endpoints[0].Conns != 1 {
			t.Errorf("%+v: want no reset, and one connection", s.Endpoints[0])
		}
	})
}

// Requests that wait for a stream fail with the connection that they wait for. The end of one of them may end another one.
func TestWaitingRequestsFail(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		r := startUpstream(t, c, route.Rule{}, oneConnection(proxytest.DeadAddr(t)))
		const streams, waiting = wire.DefaultMaxStreams, 4
		calls := make([]*call, streams+waiting)
		over := make(chan int, len(calls))
		waits := proxytest.OnLoop(t, r.loop, func() int64 { // the connection is not refused before all have begun
			for i := range calls {
				calls[i] = &call{Downstream: proxytest.NewDownstream(t, r.loop), rig: r}
				calls[i].Responded = func() {
					over <- i
					if i == streams { // the first one that waits
						calls[streams+1].Leave()
						calls[streams+3].Leave()
					}
				}
				calls[i].Begin(r.plan, exchange.Timeouts{}, getHead, true)
			}
			return r.plan.Clusters[0].Snapshot().Waiting
		})
		if waits != waiting {
			t.Fatalf("%d requests wait, want %d", waits, waiting)
		}
		for range calls {
			select {
			case <-over:
			case <-time.After(proxytest.Patience):
				t.Fatal("a request has not ended")
			}
		}
		if s := r.idle(); s.Waiting != 0 {
			t.Errorf("%d requests wait in the end, want 0", s.Waiting)
		}
	})
}
