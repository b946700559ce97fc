package http1

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/proxytest"
)

// TestLongPipeline has a client pipeline more requests than the proxy reads ahead.
func TestLongPipeline(t *testing.T) {
	const number = 2000
	padding := strings.Repeat("x", 2000)
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		r := start(t, setup{loop: c, servers: []string{proxytest.ServeHTTP(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) })}})
		conn := r.dial()
		sent := make(chan error, 1)
		go func() {
			for i := range number {
				if _, err := fmt.Fprintf(conn, "GET /%d HTTP/1.1\r\nHost: a\r\nX-Padding: %s\r\n\r\n", i, padding); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		for i := range number {
			if resp, body := conn.ReadResponse("GET"); resp.StatusCode != 200 || body != fmt.Sprintf("/%d", i) {
				t.Fatalf("request %d: got status %d, %q", i, resp.StatusCode, body)
			}
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	})
}
