package http1

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"

	wire "example.com/ferry/protocol/http1"
)

// TestDownstreamMeetsAnotherProtocol tests the downstream side with an in-memory upstream side. The heads of its
// responses are lists of fields, and the bodies are content. The clients use HTTP/1.1 and 1.0.
func TestDownstreamMeetsAnotherProtocol(t *testing.T) {
	edits := route.Edits{Set: []wire.Pair{{Name: "X-Set", Value: "new"}}, Remove: []string{"X-Gone"}}
	fields := proxytest.Fields{{Name: "X-Set", Value: "old"}, {Name: "X-Gone", Value: "1"}, {Name: "X-Stays", Value: "2"}}
	const post = "POST /x HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n3\nabc\n2\nde\n0\nX-T: t\n\n"
	for _, row := range []struct {
		name, request string
		respond       func(u *proxytest.Upstream)
		want          string
		closes        bool
	}{
		{"of unknown length", post, func(u *proxytest.Upstream) {
			u.Interim(103)
			u.Respond(&proxytest.ResponseHead{Code: 200, Length: -1, Fields: fields})
			u.Data([]byte("hello "))
			u.Data(nil)
			u.Data([]byte("world"))
			u.End(proxytest.Fields{{Name: "X-S", Value: "s"}})
		}, proxytest.CRLF("HTTP/1.1 103 Early Hints\n\nHTTP/1.1 200 OK\nX-Stays: 2\nX-Set: new\nTransfer-Encoding: chunked\n\n6\nhello \n5\nworld\n0\nX-S: s\n\n"), false},
		{"of known length", post, func(u *proxytest.Upstream) {
			u.Respond(&proxytest.ResponseHead{Code: 404, Length: 5})
			u.Data([]byte("hello"))
			u.End(nil)
		}, proxytest.CRLF("HTTP/1.1 404 Not Found\nX-Set: new\nContent-Length: 5\n\nhello"), false},
		{"without content, and its end comes later", post, func(u *proxytest.Upstream) {
			u.Respond(&proxytest.ResponseHead{Code: 204, Length: -1})
			u.End(nil)
		}, proxytest.CRLF("HTTP/1.1 204 No Content\nX-Set: new\n\n"), false},
		{"not modified, and its end comes later", post, func(u *proxytest.Upstream) {
			u.Respond(&proxytest.ResponseHead{Code: 304, Length: -1})
			u.End(nil)
		}, proxytest.CRLF("HTTP/1.1 304 Not Modified\nX-Set: new\n\n"), false},
		{"to HEAD, and its end comes later", "HEAD /x HTTP/1.1\nHost: a\nContent-Length: 5\n\nabcde", func(u *proxytest.Upstream) {
			u.Respond(&proxytest.ResponseHead{Code: 200, Length: -1})
			u.End(nil)
		}, proxytest.CRLF("HTTP/1.1 200 OK\nX-Set: new\n\n"), false},
		{"to HTTP/1.0", "POST /x HTTP/1.0\nContent-Length: 5\n\nabcde", func(u *proxytest.Upstream) {
			u.Interim(103)
			u.Respond(&proxytest.ResponseHead{Code: 200, Length: -1})
			u.Data([]byte("hello"))
			u.End(nil)
		}, proxytest.CRLF("HTTP/1.1 200 OK\nX-Set: new\nConnection: close\n\nhello"), true},
		{"that fails", post, func(u *proxytest.Upstream) {
			u.Fail(exchange.Failure{Cause: route.OnConnectFailure, TimedOut: true})
		}, errorResponse(504), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
				c.Loops = 1
				cfg := setup{loop: c, servers: []string{proxytest.DeadAddr(t)}, rules: []route.Rule{{Cluster: "web", Forward: route.Forward{Response: edits}}}}
				r := start(t, cfg)
				p := r.plan(cfg)
				p.Connectors = []exchange.Connector{&proxytest.Connector{TB: t, OnEnd: func(u *proxytest.Upstream) {
					if u.Body.String() != "abcde" || u.Path != "/x" || row.request == post && string(u.Trailers.Get("X-T")) != "t" {
						t.Errorf("the server got %q of %s, trailers %v", u.Body.String(), u.Path, u.Trailers)
					}
					_ = r.Group.Loops()[0].Post(func() { row.respond(u) }) // not within the call that ends the request
				}}}
				r.service.Use(nil, p)
				conn := r.dial()
				rounds := 2
				if row.closes {
					rounds = 1
				}
				for range rounds {
					conn.Send(row.request)
					got := make([]byte, len(row.want))
					if n, err := io.ReadFull(conn.R, got); err != nil || string(got) != row.want {
						t.Fatalf("got %q, %v\nwant %q", got[:n], err, row.want)
					}
				}
				if row.closes {
					conn.Ends()
				}
			})
		})
	}
}

// TestUpstreamMeetsAnotherProtocol tests the upstream side with an in-memory downstream side. The server uses
// HTTP/1.1.
func TestUpstreamMeetsAnotherProtocol(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		c.Loops = 1
		server := proxytest.ServeHTTP(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("X-Seen", strings.Join([]string{r.Method, r.Host, r.URL.String(), r.Header.Get("X-A"), r.Trailer.Get("X-T"), r.Header.Get("X-Forwarded-For"), r.Header.Get("Via")}, " "))
			w.Header().Set("Trailer", "X-S")
			w.Write(body)
			w.(http.Flusher).Flush() // makes net/http send chunks
			w.Header().Set("X-S", "s")
		})
		r := proxytest.NewRig(t, c)
		p := r.Plan(nil, []route.Rule{{Match: route.Match{Prefix: "/x/"}, Cluster: "web", Forward: route.Forward{
			Rewrite: route.Rewrite{Prefix: "/y/"}, Request: route.Edits{Set: []wire.Pair{{Name: "X-A", Value: "set"}}},
		}}}, proxytest.Cluster("web", server))
		p.Connectors = []exchange.Connector{NewConnector(nil, 1)}
		l := r.Group.Loops()[0]
		over := make(chan *proxytest.Downstream, 1)
		for _, row := range []struct {
			name  string
			head  proxytest.RequestHead
			body  []string
			trail proxytest.Fields
			want  string // description of the request that the server received
		}{
			{"no body", proxytest.RequestHead{MethodName: "GET", Host: "h", Target: "/x/a?b", Length: 0}, nil, nil, "GET h /y/a?b set  10.0.0.1 2 test"},
			{"an empty body", proxytest.RequestHead{MethodName: "POST", Host: "h", Target: "/x/a", Length: -1}, nil, nil, "POST h /y/a set  10.0.0.1 2 test"},
			{
				"unknown length",
				proxytest.RequestHead{MethodName: "POST", Host: "h", Target: "/x/a", Length: -1, Fields: proxytest.Fields{{Name: "X-A", Value: "1"}}},
				[]string{"ab", "cde"},
				proxytest.Fields{{Name: "X-T", Value: "t"}},
				"POST h /y/a set t 10.0.0.1 2 test",
			},
			{"known length", proxytest.RequestHead{MethodName: "PUT", Target: "/x/a", Length: 5, Expect: true}, []string{"ab", "cde"}, nil, "PUT " + server + " /y/a set  10.0.0.1 2 test"},
		} {
			t.Run(row.name, func(t *testing.T) {
				proxytest.OnLoop(t, l, func() bool {
					d := proxytest.NewDownstream(t, l)
					d.Relay.Changes = exchange.Changes{RequestEdit: wire.RequestEdit{ForwardedFor: "10.0.0.1", Via: "test"}}
					d.Responded = func() { over <- d }
					d.Begin(p, exchange.Timeouts{}, &row.head, len(row.body) == 0)
					for _, piece := range row.body {
						d.Send([]byte(piece))
					}
					if len(row.body) > 0 {
						d.End(row.trail)
					}
					return true
				})
				var d *proxytest.Downstream
				select {
				case d = <-over:
				case <-time.After(patience):
					t.Fatal("no response")
				}
				if seen := string(d.Fields.Get("X-Seen")); seen != row.want {
					t.Errorf("the server saw %q, want %q", seen, row.want)
				}
				if d.Status != 200 || d.Body.String() != strings.Join(row.body, "") || string(d.Trailers.Get("X-S")) != "s" {
					t.Errorf("status %d, body %q, trailers %v", d.Status, d.Body.String(), d.Trailers)
				}
			})
		}
	})
}
