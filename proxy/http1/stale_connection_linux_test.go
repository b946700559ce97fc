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
	"example.com/ferry/proxy/upstream"
)

// TestStaleConnection makes the loop find two things in the same turn: a request, and an event on the reused
// connection to the server. The event is an end, a reset, or unrequested bytes. No byte of the request was sent, so
// the proxy sends the request on another connection, whatever its method.
func TestStaleConnection(t *testing.T) {
	for name, act := range map[string]func(net.Conn){
		"closed": func(c net.Conn) { c.Close() },
		"reset":  func(c net.Conn) { c.(*net.TCPConn).SetLinger(0); c.Close() },
		"speaks": func(c net.Conn) { io.WriteString(c, evil) },
	} {
		for _, method := range []string{"GET", "POST"} {
			t.Run(name+" "+method, func(t *testing.T) {
				// Only epoll reports events in a known order.
				c := loop.Config{Loops: 1}
				conns := make(chan net.Conn, 10)
				r := start(t, setup{loop: c, cluster: upstream.Config{Limits: upstream.Limits{Connections: 1}}, servers: []string{
					proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
						conns <- conn
						for {
							req, err := http.ReadRequest(r)
							if err != nil {
								return
							}
							body, err := io.ReadAll(req.Body)
							if err != nil {
								return
							}
							fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
						}
					}),
				}})
				conn := r.dial()
				for i := range 5 {
					want := strings.Repeat("x", 1+i*30_000)
					conn.Send("POST / HTTP/1.1\nHost: a\nContent-Length: 2\n\nhi")
					conn.ReadResponse("POST")
					server := <-conns
					stopped, goOn := make(chan bool), make(chan bool)
					if err := r.Group.Loops()[0].Post(func() { close(stopped); <-goOn }); err != nil {
						t.Fatal(err)
					}
					<-stopped
					conn.Send(fmt.Sprintf("%s / HTTP/1.1\nHost: a\nContent-Length: %d\n\n%s", method, len(want), want))
					act(server)
					close(goOn)
					if resp, body := conn.ReadResponse(method); resp.StatusCode != 200 || body != want {
						t.Fatalf("round %d: got %d %.50q, want 200 and %d bytes", i, resp.StatusCode, body, len(want))
					}
					(<-conns).Close() // so that the next round starts with another connection
					r.eventually("no connection is left", func() bool {
						return r.service.current.Load().plan.Clusters[0].Snapshot().Endpoints[0].Conns == 0
					})
				}
			})
		}
	}
}
