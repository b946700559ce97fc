package http1

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/proxytest"
)

// A server's connection that was paused during a response is resumed for the next request.
func TestPausedConnectionIsResumed(t *testing.T) {
	r := start(t, setup{
		loop: loop.Config{Loops: 1, HighWater: 1}, // a client's queue is full as soon as it has a byte
		servers: []string{proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
			for {
				if _, err := http.ReadRequest(r); err != nil {
					return
				}
				io.WriteString(conn, proxytest.CRLF("HTTP/1.1 103 Early Hints\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nok"))
			}
		})},
	})
	c := r.dial()
	for range 3 {
		c.Send("GET / HTTP/1.1\nHost: a\n\n")
		if resp, _ := c.ReadResponse("GET"); resp.StatusCode != 103 {
			t.Fatalf("status %d, want 103", resp.StatusCode)
		}
		if resp, body := c.ReadResponse("GET"); resp.StatusCode != 200 || body != "ok" {
			t.Fatalf("status %d, body %q, want 200 and ok", resp.StatusCode, body)
		}
	}
}
