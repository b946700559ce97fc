package http1

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/proxytest"
)

func TestNetHTTP(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		r := start(t, setup{loop: c, servers: []string{proxytest.ServeHTTP(t, proxytest.EchoHTTP)}})
		for _, size := range []int{0, 1, 1000, 70_000, 1 << 20} {
			for _, chunked := range []bool{false, true} {
				body := bytes.Repeat([]byte{'x'}, size)
				var reader io.Reader = bytes.NewReader(body)
				if chunked {
					reader = io.MultiReader(reader)
				}
				resp, err := http.Post("http://"+r.addr+"/a?b=c", "text/plain", reader)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != 200 || !bytes.Equal(got, body) {
					t.Fatalf("%d bytes, chunked %v: got status %d, %d bytes, %v", size, chunked, resp.StatusCode, len(got), err)
				}
				if want := "POST " + r.addr + " /a?b=c"; resp.Header.Get("X-Seen") != want {
					t.Errorf("server saw %q, want %q", resp.Header.Get("X-Seen"), want)
				}
			}
		}
	})
}

func TestPipelining(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		r := start(t, setup{loop: c, servers: []string{proxytest.ServeHTTP(t, proxytest.EchoHTTP)}})
		conn := r.dial()
		text := ""
		for i := range 10 {
			text += fmt.Sprintf("POST /%d HTTP/1.1\nHost: a\nContent-Length: 2\n\n%02d", i, i)
		}
		conn.Send(text)
		for i := range 10 {
			resp, body := conn.ReadResponse("POST")
			if want := fmt.Sprintf("POST a /%d", i); resp.Header.Get("X-Seen") != want || body != fmt.Sprintf("%02d", i) {
				t.Fatalf("response %d: server saw %q, body %q", i, resp.Header.Get("X-Seen"), body)
			}
		}
	})
}
