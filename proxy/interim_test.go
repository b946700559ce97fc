package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// interimServer starts a server that sends n interim responses, then a response.
func interimServer(t *testing.T, modern bool, n int) (addr string) {
	link := strings.Repeat("x", 1000)
	if !modern {
		return serve(t, func(c net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
				return
			}
			for i := range n {
				if _, err := fmt.Fprintf(c, "HTTP/1.1 103 Early Hints\r\nLink: %d %s\r\n\r\n", i, link); err != nil {
					return
				}
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		})
	}
	return serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		for i := range n {
			w.Header().Set("Link", fmt.Sprintf("%d %s", i, link))
			w.WriteHeader(http.StatusEarlyHints)
		}
		w.Header().Del("Link")
		_, _ = io.WriteString(w, "ok")
	})
}

// TestInterimResponsesHaveABound: a server sends many interim responses, and the client reads nothing. The proxy holds no more than a queue of them. When
// the client reads again, it gets those of an HTTP/1.1 server without a gap, and the response.
func TestInterimResponsesHaveABound(t *testing.T) {
	const many, most = 20_000, 1 << 20
	for _, row := range []struct {
		name           string
		client, server Protocol
		n              int
	}{
		{"HTTP/1.1 to HTTP/2", HTTP2, HTTP1, many},
		{"HTTP/1.1 to HTTP/1.1", HTTP1, HTTP1, many},
		{"HTTP/2 to HTTP/2", HTTP2, HTTP2, 400}, // the protocol's budget bounds them, too
	} {
		t.Run(row.name, func(t *testing.T) {
			web := cluster1("web", interimServer(t, row.server == HTTP2, row.n))
			if row.server == HTTP2 {
				web.Protocol = upstream.HTTP2
			}
			p := run(t, &Config{
				Loops:     1,
				Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: row.client, Routes: []route.Rule{{Cluster: "web", Forward: route.Forward{Timeout: time.Minute}}}}},
				Clusters:  []upstream.Config{web},
			})
			conn, err := net.Dial("tcp", at(p, 0))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			var read func() (link string, final bool, err error)
			if row.client == HTTP2 {
				f := newFrames(t, conn)
				f.head(1, true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/")
				read = func() (string, bool, error) {
					for {
						frame, err := f.ReadFrame()
						if err != nil {
							return "", false, err
						}
						if h, ok := frame.(*http2.MetaHeadersFrame); ok {
							for _, field := range h.RegularFields() {
								if field.Name == "link" {
									return field.Value, false, nil
								}
							}
							return "", h.PseudoValue("status") == "200", nil
						}
					}
				}
			} else {
				_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
				in := bufio.NewReader(conn)
				read = func() (string, bool, error) {
					r, err := http.ReadResponse(in, nil)
					if err != nil {
						return "", false, err
					}
					return r.Header.Get("Link"), r.StatusCode == 200, nil
				}
			}
			largest := 0
			for range 50 { // turns in which the proxy could take more
				p.group.Each(func(l *loop.Loop) {
					held := 0
					for c := range l.All() {
						held += c.Queued() + len(c.Unread())
					}
					largest = max(largest, held)
				})
				time.Sleep(4 * time.Millisecond)
			}
			if largest > most {
				t.Fatalf("one request has the proxy hold %d KiB", largest>>10)
			}
			got := 0
			for {
				link, final, err := read()
				if err != nil {
					t.Fatalf("after %d interim responses: %v", got, err)
				}
				if final {
					break
				}
				if row.server == HTTP1 && !strings.HasPrefix(link, fmt.Sprintf("%d ", got)) {
					t.Fatalf("interim response %d is %.10q", got, link)
				}
				got++
			}
			if row.server == HTTP1 && got != row.n {
				t.Errorf("%d interim responses, want %d", got, row.n)
			}
		})
	}
}
