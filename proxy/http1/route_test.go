package http1

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/route"

	wire "example.com/ferry/protocol/http1"
)

// TestRoutes has one table for all that a route can say, and looks at what the server got and the client was answered.
func TestRoutes(t *testing.T) {
	heads := make(chan string, 1)
	server := script(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			head := ""
			for !strings.HasSuffix(head, "\r\n\r\n") {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				head += line
			}
			heads <- head
			io.WriteString(conn, crlf("HTTP/1.1 200 OK\nServer: x\nContent-Length: 0\n\n"))
		}
	})
	pair := func(name, value string) []wire.Pair { return []wire.Pair{{Name: name, Value: value}} }
	rules := []route.Rule{
		{Match: route.Match{Prefix: "/v1/"}, Cluster: "web", Forward: route.Forward{Rewrite: route.Rewrite{Prefix: "/v2/", Host: "b"}}},
		{Match: route.Match{Path: "/edit"}, Cluster: "web", Forward: route.Forward{
			Request:  route.Edits{Set: pair("X-A", "2"), Remove: []string{"X-B"}},
			Response: route.Edits{Add: pair("X-C", "3"), Remove: []string{"Server"}},
		}},
		{Match: route.Match{Headers: []route.Header{{Name: "x-pick", Value: "me"}}}, Respond: &route.Response{Status: 418, Headers: pair("X-D", "4"), Body: "tea"}},
		{Match: route.Match{Path: "/empty"}, Respond: &route.Response{Status: 204}},
		{Match: route.Match{Path: "/moved"}, Redirect: &route.Redirect{Path: "/there"}},
		{Match: route.Match{Path: "/scarce"}, RateLimit: &route.RateLimit{RequestsPerSecond: 0.01, Burst: 1}, Respond: &route.Response{Status: 200}},
		{Match: route.Match{Methods: []string{"GET"}, Prefix: "/"}, Cluster: "web"},
	}
	conn := start(t, setup{loop: loop.Config{Loops: 1}, rules: rules, servers: []string{server}}).dial()
	const plain = "HTTP/1.1 200 OK\nServer: x\nContent-Length: 0\n\n"
	for _, row := range []struct{ name, request, server, answer string }{
		{"prefix and host", "GET /v1/a?b HTTP/1.1\nHost: a\n\n", "GET /v2/a?b HTTP/1.1\nHost: b\n\n", plain},
		{
			"edits", "GET /edit HTTP/1.1\nHost: a\nX-A: 1\nX-B: 1\n\n", "GET /edit HTTP/1.1\nHost: a\nX-A: 2\n\n",
			"HTTP/1.1 200 OK\nContent-Length: 0\nX-C: 3\n\n",
		},
		{"absolute form", "GET http://c?q HTTP/1.1\nHost: a\n\n", "GET /?q HTTP/1.1\nHost: c\n\n", plain},
		{"hop by hop", "GET / HTTP/1.1\nHost: a\nConnection: x-e\nX-E: 1\nKeep-Alive: 1\n\n", "GET / HTTP/1.1\nHost: a\n\n", plain},
		{
			"trace context", "GET / HTTP/1.1\nHost: a\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\ntracestate: k=v\n\n",
			"GET / HTTP/1.1\nHost: a\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\ntracestate: k=v\n\n", plain,
		},
		{
			"respond", "POST / HTTP/1.1\nHost: a\nX-Pick: me\nContent-Length: 2\n\nhi", "",
			"HTTP/1.1 418 I'm a teapot\nX-D: 4\nContent-Length: 3\nConnection: keep-alive\n\ntea",
		},
		{
			"respond to chunked", "POST / HTTP/1.1\nHost: a\nX-Pick: me\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n", "",
			"HTTP/1.1 418 I'm a teapot\nX-D: 4\nContent-Length: 3\nConnection: keep-alive\n\ntea",
		},
		{
			"respond to HEAD", "HEAD / HTTP/1.1\nHost: a\nX-Pick: me\n\n", "",
			"HTTP/1.1 418 I'm a teapot\nX-D: 4\nContent-Length: 3\nConnection: keep-alive\n\n",
		},
		{"respond without content", "GET /empty HTTP/1.1\nHost: a\n\n", "", "HTTP/1.1 204 No Content\nConnection: keep-alive\n\n"},
		{
			"redirect", "GET /moved?x HTTP/1.1\nHost: a\n\n", "",
			"HTTP/1.1 301 Moved Permanently\nLocation: /there?x\nContent-Length: 0\nConnection: keep-alive\n\n",
		},
		{"within the rate", "GET /scarce HTTP/1.1\nHost: a\n\n", "", "HTTP/1.1 200 OK\nContent-Length: 0\nConnection: keep-alive\n\n"},
		{
			"beyond the rate", "GET /scarce HTTP/1.1\nHost: a\n\n", "",
			"HTTP/1.1 429 Too Many Requests\nRetry-After: 100\nContent-Length: 22\nConnection: keep-alive\n\n429 Too Many Requests" + "\x00",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			conn.send(row.request)
			if row.server != "" {
				if got := <-heads; got != crlf(row.server) {
					t.Errorf("server got %q\nwant       %q", got, crlf(row.server))
				}
			}
			want := strings.ReplaceAll(crlf(row.answer), "\x00", "\n")
			got := make([]byte, len(want))
			if n, err := io.ReadFull(conn.r, got); err != nil || string(got) != want {
				t.Fatalf("client got %q, %v\nwant       %q", got[:n], err, want)
			}
		})
	}
}

func TestForwarded(t *testing.T) {
	for _, row := range []struct {
		name   string
		config Config
		want   string // X-Forwarded-For and X-Forwarded-Proto, and Via
	}{
		{"as it came", Config{}, "1.2.3.4 https "},
		{"replaced", Config{ForwardedFor: true, Via: "ferry"}, "127.0.0.1 http 1.1 ferry"},
		{"added to", Config{ForwardedFor: true, TrustForwarded: true}, "1.2.3.4, 127.0.0.1 https "},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := start(t, setup{config: row.config, servers: []string{serve(t, func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(w, "%s %s %s", r.Header.Get("X-Forwarded-For"), r.Header.Get("X-Forwarded-Proto"), r.Header.Get("Via"))
			})}})
			conn := r.dial()
			for range 2 {
				conn.send("GET / HTTP/1.1\nHost: a\nX-Forwarded-For: 1.2.3.4\nX-Forwarded-Proto: https\n\n")
				if resp, got := conn.read("GET"); got != row.want || resp.Header.Get("Via") != wantVia(row.config) {
					t.Errorf("server got %q, want %q", got, row.want)
				}
			}
		})
	}
}

func TestMaxRequests(t *testing.T) {
	conn := start(t, setup{config: Config{MaxRequests: 2}, servers: []string{serve(t, echo)}}).dial()
	for i := range 2 {
		conn.send("GET / HTTP/1.1\nHost: a\n\n")
		if resp, _ := conn.read("GET"); resp.Close != (i == 1) {
			t.Errorf("answer %d: closes %v", i+1, resp.Close)
		}
	}
	conn.ends()
}

// TestPayloadRoutes routes by a field of the body, which arrives in pieces, in one message or several chunks.
func TestPayloadRoutes(t *testing.T) {
	named := func(name string) string {
		return serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %v", name, body, err)
		})
	}
	rules := []route.Rule{
		{Match: route.Match{Payload: &route.Payload{Format: "json", Where: `a > 5`}}, Respond: &route.Response{Status: 200, Body: "large"}},
		{Cluster: "web"},
	}
	for _, row := range []struct{ name, body, want string }{
		{"taken", `{"a":9}`, "large"},
		{"passed on", `{"a":1,"b":2}`, `web {"a":1,"b":2} <nil>`},
		{"no JSON", `nonsense`, "web nonsense <nil>"},
		{"empty", ``, "web  <nil>"},
	} {
		for _, chunked := range []bool{false, true} {
			for _, expect := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, chunked %v, expect %v", row.name, chunked, expect), func(t *testing.T) {
					both(t, func(t *testing.T, c loop.Config) {
						r := start(t, setup{loop: c, rules: rules, servers: []string{named("web")}})
						conn := r.dial()
						head := "POST / HTTP/1.1\nHost: a\n"
						expects := expect && (row.body != "" || chunked)
						if expects {
							head += "Expect: 100-continue\n"
						}
						pieces := strings.Split(row.body, "")
						if chunked {
							head += "Transfer-Encoding: chunked\n\n"
							for i := range pieces {
								pieces[i] = "1\n" + pieces[i] + "\n"
							}
							pieces = append(pieces, "0\n\n")
						} else {
							head += fmt.Sprintf("Content-Length: %d\n\n", len(row.body))
						}
						conn.send(head)
						if expects {
							line, err := conn.r.ReadString('\n')
							if err != nil || line != "HTTP/1.1 100 Continue\r\n" {
								t.Fatalf("got %q, %v", line, err)
							}
							conn.r.ReadString('\n')
						}
						for _, piece := range pieces {
							conn.send(piece)
						}
						if _, got := conn.read("POST"); got != row.want {
							t.Errorf("got %q, want %q", got, row.want)
						}
					})
				})
			}
		}
	}
}

// TestExpect has the server decide whether the body is sent.
func TestExpect(t *testing.T) {
	both(t, func(t *testing.T, c loop.Config) {
		r := start(t, setup{loop: c, servers: []string{serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/no" {
				w.WriteHeader(403)
				return
			}
			echo(w, r)
		})}})
		conn := r.dial()
		conn.send("POST /yes HTTP/1.1\nHost: a\nContent-Length: 2\nExpect: 100-continue\n\n")
		if resp, err := http.ReadResponse(conn.r, nil); err != nil || resp.StatusCode != 100 {
			t.Fatalf("got %v, %v", resp, err)
		}
		conn.send("hi")
		if resp, body := conn.read("POST"); resp.StatusCode != 200 || body != "hi" {
			t.Errorf("got %d %q", resp.StatusCode, body)
		}
		conn.send("POST /no HTTP/1.1\nHost: a\nContent-Length: 2\nExpect: 100-continue\n\n")
		if resp, _ := conn.read("POST"); resp.StatusCode != 403 || !resp.Close {
			t.Errorf("got %d, closes %v; want 403 and the end: nobody knows whether the body comes", resp.StatusCode, resp.Close)
		}
		conn.ends()
	})
}

// flaky answers with status to the first requests, and then with what it was sent.
func flaky(tb testing.TB, failures int64, fail func(w http.ResponseWriter)) (addr string, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	return serve(tb, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || asked.Add(1) <= failures {
			fail(w)
			return
		}
		w.Write(body)
	}), asked
}

func TestRetries(t *testing.T) {
	unwell := func(w http.ResponseWriter) { w.WriteHeader(503) }
	breaks := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	const post, put = "POST", "PUT"
	for _, row := range []struct {
		name   string
		retry  route.Retry
		method string
		size   int
		fail   func(http.ResponseWriter)
		status int
		asked  int64
	}{
		{"status", route.Retry{Statuses: []int{503}, Attempts: 3}, put, 1000, unwell, 200, 3},
		{"too few attempts", route.Retry{Statuses: []int{503}}, put, 1000, unwell, 503, 2},
		{"another status", route.Retry{Statuses: []int{502}, Attempts: 3}, put, 1000, unwell, 503, 1},
		{"not idempotent", route.Retry{Statuses: []int{503}, Attempts: 3}, post, 1000, unwell, 503, 1},
		{"said to be", route.Retry{Statuses: []int{503}, Attempts: 3, Idempotent: true}, post, 1000, unwell, 200, 3},
		{"reset", route.Retry{On: []route.Cause{route.OnReset}, Attempts: 3}, put, 60_000, breaks, 200, 3},
		{"too large to keep", route.Retry{Statuses: []int{503}, Attempts: 3}, put, 70_000, unwell, 503, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			both(t, func(t *testing.T, c loop.Config) {
				addr, asked := flaky(t, 2, row.fail)
				r := start(t, setup{loop: c, rules: []route.Rule{{Cluster: "web", Forward: route.Forward{Retry: &row.retry}}}, servers: []string{addr}})
				conn := r.dial()
				body := strings.Repeat("x", row.size)
				conn.send(fmt.Sprintf("%s / HTTP/1.1\nHost: a\nContent-Length: %d\n\n", row.method, row.size) + body)
				resp, got := conn.read(row.method)
				if resp.StatusCode != row.status || row.status == 200 && got != body {
					t.Errorf("got %d and %d bytes, want %d", resp.StatusCode, len(got), row.status)
				}
				if n := asked.Load(); n != row.asked {
					t.Errorf("server was asked %d times, want %d", n, row.asked)
				}
			})
		})
	}
}

func TestRetryElsewhere(t *testing.T) {
	patient := []route.Cause{route.OnConnectFailure}
	both(t, func(t *testing.T, c loop.Config) {
		for _, row := range []struct {
			name  string
			retry route.Retry
			bad   string
			ask   string
		}{
			{"nobody listens", route.Retry{On: patient}, dead(t), "POST / HTTP/1.1\nHost: a\nContent-Length: 2\n\nhi"},
			{
				"no answer",
				route.Retry{On: []route.Cause{route.OnTimeout}, PerTryTimeout: 4 * brief, Attempts: 100},
				silent(t),
				"PUT / HTTP/1.1\nHost: a\nContent-Length: 2\n\nhi",
			},
		} {
			t.Run(row.name, func(t *testing.T) {
				rules := []route.Rule{{Cluster: "web", Forward: route.Forward{Retry: &row.retry, Timeout: patience}}}
				conn := start(t, setup{loop: c, rules: rules, servers: []string{row.bad, serve(t, echo)}}).dial()
				for range 4 {
					conn.send(row.ask)
					if resp, body := conn.read("PUT"); resp.StatusCode != 200 || body != "hi" {
						t.Fatalf("got %d %q", resp.StatusCode, body)
					}
				}
			})
		}
	})
}

func wantVia(c Config) string {
	if c.Via == "" {
		return ""
	}
	return "1.1 " + c.Via
}
