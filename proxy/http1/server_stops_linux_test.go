package http1

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// TestServerStops stops a server while a POST is on its way to a reused connection: the loop finds the request and the end of the
// connection in the same turn, and the new connection is refused. No byte was sent, so the route's retry policy sends the request to the
// other server. The body was not copied when the request arrived.
func TestServerStops(t *testing.T) {
	for _, row := range []struct {
		name    string
		size    int
		chunked bool
		status  int
	}{{"small", 2, false, 200}, {"several buffers", 60_000, false, 200}, {"chunked with a trailer", 5000, true, 200}, {"too large to keep", 70_000, false, 503}} {
		t.Run(row.name, func(t *testing.T) {
			ln := proxytest.Listen(t)
			conns := make(chan net.Conn, 1)
			go func() {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				for r := bufio.NewReader(conn); ; {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					conns <- conn
				}
			}()
			// Only epoll reports events in a known order.
			r := start(t, setup{
				loop:    loop.Config{Loops: 1},
				rules:   []route.Rule{{Cluster: "web", Forward: route.Forward{Retry: &route.Retry{On: []route.Cause{route.OnConnectFailure}}}}},
				cluster: upstream.Config{Balance: upstream.RoundRobin},
				servers: []string{ln.Addr().String(), proxytest.ServeHTTP(t, proxytest.EchoHTTP)},
			})
			conn := r.dial()
			next := func() bool { // the next request goes to the server that stops
				conn.Send("POST / HTTP/1.1\nHost: a\nContent-Length: 2\n\nhi")
				_, body := conn.ReadResponse("POST")
				return body == "hi" && len(conns) > 0
			}
			for i := 0; !next(); i++ {
				if i == 4 {
					t.Fatal("the requests do not take turns")
				}
			}
			stopped, goOn := make(chan bool), make(chan bool)
			if err := r.Group.Loops()[0].Post(func() { close(stopped); <-goOn }); err != nil {
				t.Fatal(err)
			}
			<-stopped
			want := strings.Repeat("x", row.size)
			if row.chunked {
				conn.Send(fmt.Sprintf("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\nTrailer: Sum\n\n%x\n%s\n0\nSum: 7\n\n", len(want), want))
			} else {
				conn.Send(fmt.Sprintf("POST / HTTP/1.1\nHost: a\nContent-Length: %d\n\n%s", len(want), want))
			}
			ln.Close()
			(<-conns).Close()
			close(goOn)
			resp, body := conn.ReadResponse("POST")
			if resp.StatusCode != row.status || row.status == 200 && body != want {
				t.Errorf("got %d and %d bytes, want %d and %d", resp.StatusCode, len(body), row.status, len(want))
			}
			if got := resp.Header.Get("X-Trailer-Sum"); row.chunked && got != "7" {
				t.Errorf("got the trailer %q, want 7", got)
			}
			r.eventually("the requests are counted", func() bool {
				requests := uint64(0)
				for _, n := range r.Metrics.Snapshot().Routes[0].Requests {
					requests += n
				}
				return requests >= 3
			})
			retries := uint64(1)
			if row.status != 200 {
				retries = 0
			}
			if got := r.Metrics.Snapshot().Routes[0].Retries; got != retries {
				t.Errorf("%d retries, want %d", got, retries)
			}
		})
	}
}
