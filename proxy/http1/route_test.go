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
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"

	wire "example.com/ferry/protocol/http1"
)

// TestRoutes checks each feature of a route: the request that the server gets, and the response that the client gets.
func TestRoutes(t *testing.T) {
	heads := make(chan string, 1)
	server := proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
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
			io.WriteString(conn, proxytest.CRLF("HTTP/1.1 200 OK\nServer: x\nContent-Length: 0\n\n"))
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
	for _, row := range []struct{ name, request, server, response string }{
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
			"HTTP/1.1 429 Too Many Requests\nRetry-After: 100\nContent-Type: text/plain\nContent-Length: 22\nConnection: keep-alive\n\n429 Too Many Requests" + "\x00",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			conn.Send(row.request)
			if row.server != "" {
				if got := <-heads; got != proxytest.CRLF(row.server) {
					t.Errorf("server got %q\nwant       %q", got, proxytest.CRLF(row.server))
				}
			}
			want := strings.ReplaceAll(proxytest.CRLF(row.response), "\x00", "\n")
			got := make([]byte, len(want))
			if n, err := io.ReadFull(conn.R, got); err != nil || string(got) != want {
				t.Fatalf("client got %q, %v\nwant       %q", got[:n], err, want)
			}
		})
	}
}

func TestForwarded(t *testing.T) {
	for _, row := range []struct {
		name   string
		config Config
		want   string // X-Forwarded-For, X-Forwarded-Proto and Via as received by the server
	}{
		{"as it came", Config{}, "1.2.3.4 https "},
		{"replaced", Config{HTTPConfig: exchange.HTTPConfig{ForwardedFor: true, Via: "ferry"}}, "127.0.0.1 http 1.1 ferry"},
		{"added to", Config{HTTPConfig: exchange.HTTPConfig{ForwardedFor: true, TrustForwarded: true}}, "1.2.3.4, 127.0.0.1 https "},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := start(t, setup{config: row.config, servers: []string{proxytest.ServeHTTP(t, func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(w, "%s %s %s", r.Header.Get("X-Forwarded-For"), r.Header.Get("X-Forwarded-Proto"), r.Header.Get("Via"))
			})}})
			conn := r.dial()
			for range 2 {
				conn.Send("GET / HTTP/1.1\nHost: a\nX-Forwarded-For: 1.2.3.4\nX-Forwarded-Proto: https\n\n")
				if resp, got := conn.ReadResponse("GET"); got != row.want || resp.Header.Get("Via") != wantVia(row.config) {
					t.Errorf("server got %q, want %q", got, row.want)
				}
			}
		})
	}
}

func TestMaxRequests(t *testing.T) {
	conn := start(t, setup{config: Config{HTTPConfig: exchange.HTTPConfig{MaxRequests: 2}}, servers: []string{proxytest.ServeHTTP(t, proxytest.EchoHTTP)}}).dial()
	for i := range 2 {
		conn.Send("GET / HTTP/1.1\nHost: a\n\n")
		if resp, _ := conn.ReadResponse("GET"); resp.Close != (i == 1) {
			t.Errorf("response %d: closes %v", i+1, resp.Close)
		}
	}
	conn.Ends()
}

// TestPayloadRoutes routes by a field of the body. The body arrives in pieces, with a length or in chunks.
func TestPayloadRoutes(t *testing.T) {
	named := func(name string) string {
		return proxytest.ServeHTTP(t, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %v", name, body, err)
		})
	}
	rules := []route.Rule{
		{Match: route.Match{Payload: &route.Payload{Format: "json", Where: `a > 5`}}, Respond: &route.Response{Status: 200, Body: "large"}},
		{Cluster: "web"},
	}
	for _, row := range []struct{ name, body, want string }{
		{"matched", `{"a":9}`, "large"},
		{"forwarded", `{"a":1,"b":2}`, `web {"a":1,"b":2} <nil>`},
		{"no JSON", `nonsense`, "web nonsense <nil>"},
		{"empty", ``, "web  <nil>"},
	} {
		for _, chunked := range []bool{false, true} {
			for _, expect := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, chunked %v, expect %v", row.name, chunked, expect), func(t *testing.T) {
					proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
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
						conn.Send(head)
						if expects {
							line, err := conn.R.ReadString('\n')
							if err != nil || line != "HTTP/1.1 100 Continue\r\n" {
								t.Fatalf("got %q, %v", line, err)
							}
							conn.R.ReadString('\n')
						}
						for _, piece := range pieces {
							conn.Send(piece)
						}
						if _, got := conn.ReadResponse("POST"); got != row.want {
							t.Errorf("got %q, want %q", got, row.want)
						}
					})
				})
			}
		}
	}
}

// TestExpect checks that the server decides whether the client sends the body.
func TestExpect(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		r := start(t, setup{loop: c, servers: []string{proxytest.ServeHTTP(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/no" {
				w.WriteHeader(403)
				return
			}
			proxytest.EchoHTTP(w, r)
		})}})
		conn := r.dial()
		conn.Send("POST /yes HTTP/1.1\nHost: a\nContent-Length: 2\nExpect: 100-continue\n\n")
		if resp, err := http.ReadResponse(conn.R, nil); err != nil || resp.StatusCode != 100 {
			t.Fatalf("got %v, %v", resp, err)
		}
		conn.Send("hi")
		if resp, body := conn.ReadResponse("POST"); resp.StatusCode != 200 || body != "hi" {
			t.Errorf("got %d %q", resp.StatusCode, body)
		}
		conn.Send("POST /no HTTP/1.1\nHost: a\nContent-Length: 2\nExpect: 100-continue\n\n")
		if resp, _ := conn.ReadResponse("POST"); resp.StatusCode != 403 || !resp.Close {
			t.Errorf("got %d, closes %v; want 403 and the end: the body may follow or not", resp.StatusCode, resp.Close)
		}
		conn.Ends()
	})
}

// failAtFirst starts a server. The server calls fail for the first requests and echoes the later ones.
func failAtFirst(tb testing.TB, failures int64, fail func(w http.ResponseWriter)) (addr string, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	return proxytest.ServeHTTP(tb, func(w http.ResponseWriter, r *http.Request) {
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
		{"declared idempotent", route.Retry{Statuses: []int{503}, Attempts: 3, Idempotent: true}, post, 1000, unwell, 200, 3},
		{"reset", route.Retry{On: []route.Cause{route.OnReset}, Attempts: 3}, put, 60_000, breaks, 200, 3},
		{"too large to keep", route.Retry{Statuses: []int{503}, Attempts: 3}, put, 70_000, unwell, 503, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
				addr, asked := failAtFirst(t, 2, row.fail)
				r := start(t, setup{loop: c, rules: []route.Rule{{Cluster: "web", Forward: route.Forward{Retry: &row.retry}}}, servers: []string{addr}})
				conn := r.dial()
				body := strings.Repeat("x", row.size)
				conn.Send(fmt.Sprintf("%s / HTTP/1.1\nHost: a\nContent-Length: %d\n\n", row.method, row.size) + body)
				resp, got := conn.ReadResponse(row.method)
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
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		for _, row := range []struct {
			name  string
			retry route.Retry
			bad   string
			ask   string
		}{
			{"connection refused", route.Retry{On: patient}, proxytest.DeadAddr(t), "POST / HTTP/1.1\nHost: a\nContent-Length: 2\n\nhi"},
			{
				"no response",
				route.Retry{On: []route.Cause{route.OnTimeout}, PerTryTimeout: 4 * brief, Attempts: 100},
				silentServer(t),
				"PUT / HTTP/1.1\nHost: a\nContent-Length: 2\n\nhi",
			},
		} {
			t.Run(row.name, func(t *testing.T) {
				rules := []route.Rule{{Cluster: "web", Forward: route.Forward{Retry: &row.retry, Timeout: patience}}}
				conn := start(t, setup{loop: c, rules: rules, servers: []string{row.bad, proxytest.ServeHTTP(t, proxytest.EchoHTTP)}}).dial()
				for range 4 {
					conn.Send(row.ask)
					if resp, body := conn.ReadResponse("PUT"); resp.StatusCode != 200 || body != "hi" {
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
