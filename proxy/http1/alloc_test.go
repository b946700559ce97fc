package http1

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/proxytest"
)

// fixedServer starts a server that sends the same response for every size bytes it reads. The server allocates
// nothing.
func fixedServer(tb testing.TB, size int, response string) string {
	return proxytest.Script(tb, func(conn net.Conn, r *bufio.Reader) {
		buf := make([]byte, size)
		out := []byte(response)
		for {
			if _, err := io.ReadFull(r, buf); err != nil {
				return
			}
			if _, err := conn.Write(out); err != nil {
				return
			}
		}
	})
}

const warm = 2000 // number of requests until all reused buffers are allocated

func TestAllocations(t *testing.T) {
	body := strings.Repeat("b", 1000)
	for _, method := range []string{"GET", "POST"} {
		t.Run(method, func(t *testing.T) {
			request := fmt.Sprintf("%s /path?query HTTP/1.1\r\nHost: a.example\r\nUser-Agent: test\r\nAccept: */*\r\n", method)
			if method == "POST" {
				request += fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
			} else {
				request += "\r\n"
			}
			response := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			r := start(t, setup{loop: loop.Config{Loops: 1}, servers: []string{fixedServer(t, len(request), response)}})
			c := r.dial()
			out, in := []byte(request), make([]byte, len(response))
			ask := func(n int) {
				for range n {
					if _, err := c.Write(out); err != nil {
						t.Fatal(err)
					}
					if _, err := io.ReadFull(c.R, in); err != nil {
						t.Fatal(err)
					}
				}
			}
			ask(warm)
			const n = 10_000
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			ask(n)
			runtime.ReadMemStats(&after)
			if got := after.Mallocs - before.Mallocs; got > n/100 {
				t.Errorf("%d requests made %d allocations: want none but the runtime's own", n, got)
			}
		})
	}
}
