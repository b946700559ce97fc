package clientload

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"
)

// dropping is a server of HTTP/1.1 that closes each kept connection when the second request has arrived.
func dropping(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				in := bufio.NewReader(c)
				for range 2 {
					r, err := http.ReadRequest(in)
					if err != nil {
						break
					}
					id := r.Header.Get("X-Id")
					if strings.HasPrefix(id, "first") {
						_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"))
					}
					if id == "second" {
						break
					}
					if id == "third" {
						_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother"))
					}
				}
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// TestHTTPAgain: a request that the server has dropped is sent again as often as net/http permits, and this is counted. With Once it fails.
func TestHTTPAgain(t *testing.T) {
	web, err := NewWeb("a")
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	addr := dropping(t)
	for _, once := range []bool{false, true} {
		c, err := HTTP{URL: "http://" + addr, Once: once}.Kind().Connect(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if again, err := c.Do(t.Context(), "first"); again != 0 || err != nil {
			t.Fatalf("got %d, %v", again, err)
		}
		again, err := c.Do(t.Context(), "second") // the server drops the repetition too, on a connection that is new
		if want := map[bool]int{false: 1, true: 0}[once]; again != want || err == nil {
			t.Errorf("once %v: got %d, %v, want %d repetitions and an error", once, again, err, want)
		}
		if _, err := c.Do(t.Context(), "third"); err == nil || !strings.Contains(err.Error(), `200 OK with "other", want 200 with "third"`) {
			t.Errorf("got %v, want that the response is wrong", err)
		}
	}
	for _, h := range []HTTP{{URL: "http://" + web.Addr}, {URL: "http://" + web.Addr, HTTP2: true}, {URL: "http://" + web.Addr, Fresh: true}} {
		c, err := h.Kind().Connect(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, id := range []string{"1", "2", "3"} {
			if again, err := c.Do(t.Context(), id); again != 0 || err != nil {
				t.Errorf("%+v: got %d, %v", h, again, err)
			}
		}
	}
}
