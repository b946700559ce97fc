package http1

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/proxytest"
)

// TestServersThatSendTooMuch has servers send surplus bytes after the response, in one piece and in two. The surplus
// must not become the response to another request, neither of the same client nor of another client.
func TestServersThatSendTooMuch(t *testing.T) {
	const evil = "HTTP/1.1 200 OK\nContent-Length: 4\n\nevil"
	const get = "GET / HTTP/1.1\nHost: a\n\n"
	for _, tt := range []struct {
		name, request, response, behind string
		want                            int
	}{
		{"no content", get, "HTTP/1.1 204 No Content\n\n", evil, 204},
		{"no content with a length", get, "HTTP/1.1 204 No Content\nContent-Length: 40\n\n", evil, 204},
		{"no content in chunks", get, "HTTP/1.1 204 No Content\nTransfer-Encoding: chunked\n\n", "0\n\n" + evil, 204},
		{"not modified", get, "HTTP/1.1 304 Not Modified\nContent-Length: 40\n\n", evil, 304},
		{"head", "HEAD / HTTP/1.1\nHost: a\n\n", "HTTP/1.1 200 OK\nContent-Length: 40\n\n", evil, 200},
		{"head in chunks", "HEAD / HTTP/1.1\nHost: a\n\n", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n", "0\n\n" + evil, 200},
		{"longer than its length", get, "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", evil, 200},
		{"behind the last chunk", get, "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n", evil, 200},
		{"another protocol unasked", get, "HTTP/1.1 101 Switching Protocols\nConnection: upgrade\nUpgrade: websocket\n\n", evil, 502},
		{"interim without end", get, "HTTP/1.1 102 Processing\nContent-Length: 40\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nhi", evil, 200},
		{"two lengths", get, "HTTP/1.1 200 OK\nContent-Length: 2\nContent-Length: 40\n\nhi", evil, 502},
		{"length and chunks", get, "HTTP/1.1 200 OK\nContent-Length: 40\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n", evil, 502},
		{"early", "POST / HTTP/1.1\nHost: a\nContent-Length: 9\n\n123", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", evil, 200},
		{"upgrade refused", "GET / HTTP/1.1\nHost: a\nConnection: upgrade\nUpgrade: websocket\n\n", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", evil, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
				c.Loops = 1 // so that all clients share the connections to the server
				more := make(chan bool, 1)
				r := start(t, setup{loop: c, servers: []string{proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
					for {
						req, err := http.ReadRequest(r)
						switch {
						case err != nil:
							return
						case strings.HasPrefix(req.URL.Path, "/honest"):
							io.WriteString(conn, proxytest.CRLF("HTTP/1.1 200 OK\nContent-Length: 6\n\nhonest"))
						case req.Header.Get("X-Later") == "":
							io.WriteString(conn, proxytest.CRLF(tt.response+tt.behind))
						default:
							io.WriteString(conn, proxytest.CRLF(tt.response))
							<-more
							io.WriteString(conn, proxytest.CRLF(tt.behind))
						}
					}
				})}})
				for _, later := range []bool{false, true} {
					one := r.dial()
					request := tt.request
					if later {
						request = strings.Replace(request, "Host", "X-Later: 1\nHost", 1)
					}
					one.Send(request)
					method, _, _ := strings.Cut(request, " ")
					resp, body := one.ReadResponse(method)
					for resp.StatusCode == 102 {
						resp, body = one.ReadResponse(method)
					}
					if resp.StatusCode != tt.want || strings.Contains(body, "evil") {
						t.Errorf("got %d %q, want %d", resp.StatusCode, body, tt.want)
					}
					if later {
						more <- true
						r.eventually("what came too late has ended the connection to the server", func() bool {
							return r.service.current.Load().plan.Clusters[0].Snapshot().Endpoints[0].Conns == 0
						})
					}
					for _, next := range []*proxytest.Client{one, r.dial()} {
						if next == one && (resp.Close || method == "POST") {
							continue
						}
						for range 2 {
							next.Send("GET /honest HTTP/1.1\nHost: a\n\n")
							if resp, body := next.ReadResponse("GET"); resp.StatusCode != 200 || body != "honest" {
								t.Errorf("then got %d %q, want 200 honest", resp.StatusCode, body)
							}
						}
					}
				}
			})
		})
	}
}
