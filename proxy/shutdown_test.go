package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/ferry/proxy/upstream"
)

// TestShutdownAfterLateDial dials a server for a request after Shutdown has closed the idle connections. The new connection is not kept
// for later requests: Shutdown would wait for it.
func TestShutdownAfterLateDial(t *testing.T) {
	t.Parallel()
	held, fail := make(chan struct{}), make(chan struct{})
	var once sync.Once
	server := serve(t, func(c net.Conn) {
		for in := bufio.NewReader(c); ; {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			first := false
			if r.URL.Path == "/held" {
				once.Do(func() { first = true })
			}
			if first {
				close(held)
				<-fail // the proxy sends the request again, on another connection
				return
			}
			if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
				return
			}
		}
	})
	cluster := cluster1("a", server)
	cluster.IdleTimeout = 10 * time.Minute
	p := run(t, &Config{
		Loops:     1,
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "a"}},
		Clusters:  []upstream.Config{cluster},
	})
	request := func(c net.Conn, path string) {
		t.Helper()
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path); err != nil {
			t.Error(err)
		}
	}
	response := func(in *bufio.Reader) {
		t.Helper()
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.StatusCode != http.StatusOK {
			t.Errorf("got %s", r.Status)
		}
	}
	dial := func() (net.Conn, *bufio.Reader) {
		t.Helper()
		c, err := net.Dial("tcp", at(p, 0))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		return c, bufio.NewReader(c)
	}
	busy, fromBusy := dial()
	idle, fromIdle := dial()
	request(idle, "/")
	response(fromIdle)
	request(busy, "/held")
	<-held
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.Shutdown(ctx) }()
	if _, err := fromIdle.ReadByte(); err != io.EOF {
		t.Fatalf("got %v, want a connection that Shutdown has closed", err)
	}
	_ = idle.Close()
	close(fail)
	response(fromBusy)
	_ = busy.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
