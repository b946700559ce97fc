package http1

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"

	"example.com/ferry/loop"
)

// A connection to a server that was held back within an answer is read again when it serves the next request.
func TestKeptConnectionIsRead(t *testing.T) {
	r := start(t, setup{
		loop: loop.Config{Loops: 1, HighWater: 1}, // a client is too slow as soon as anything waits for it
		servers: []string{script(t, func(conn net.Conn, r *bufio.Reader) {
			for {
				if _, err := http.ReadRequest(r); err != nil {
					return
				}
				io.WriteString(conn, crlf("HTTP/1.1 103 Early Hints\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nok"))
			}
		})},
	})
	c := r.dial()
	for range 3 {
		c.send("GET / HTTP/1.1\nHost: a\n\n")
		if resp, _ := c.read("GET"); resp.StatusCode != 103 {
			t.Fatalf("status %d, want 103", resp.StatusCode)
		}
		if resp, body := c.read("GET"); resp.StatusCode != 200 || body != "ok" {
			t.Fatalf("status %d, body %q, want 200 and ok", resp.StatusCode, body)
		}
	}
}
