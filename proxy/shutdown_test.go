package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
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

// beginShutdown runs a proxy, calls connect with the listener's address, and shuts the proxy down. It returns when the loop has asked all
// handlers to finish: a connection between two requests has been closed. The channel gets the error of Shutdown.
func beginShutdown(t *testing.T, l Listener, connect func(addr string)) <-chan error {
	t.Helper()
	server := serve(t, func(c net.Conn) {
		for in := bufio.NewReader(c); ; {
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
				return
			}
		}
	})
	l.Address, l.Protocol, l.Cluster = "127.0.0.1:0", HTTP1, "a"
	all := []Listener{l}
	if l.TLS != nil {
		l.TLS, l.Name = nil, "plain"
		all = append(all, l)
	}
	p := run(t, &Config{Loops: 1, Listeners: all, Clusters: []upstream.Config{cluster1("a", server)}})
	connect(at(p, 0))
	between, in := dialPlain(t, at(p, len(all)-1)) // on the same listener it is accepted after what connect has made
	roundTrip(t, between, in)
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		ended <- p.Shutdown(ctx)
	}()
	if _, err := in.ReadByte(); err != io.EOF {
		t.Fatalf("got %v, want a connection that Shutdown has closed", err)
	}
	_ = between.Close()
	return ended
}

func dialPlain(t *testing.T, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return c, bufio.NewReader(c)
}

// roundTrip sends a request, and returns whether the connection will be closed after the response.
func roundTrip(t *testing.T, c net.Conn, in *bufio.Reader) (last bool) {
	t.Helper()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != http.StatusOK {
		t.Errorf("got %s", r.Status)
	}
	return r.Close
}

// TestShutdownFreshConnection: a connection that was accepted just before Shutdown is served once. Its client cannot know that it should
// send its request again.
func TestShutdownFreshConnection(t *testing.T) {
	t.Parallel()
	var c net.Conn
	var in *bufio.Reader
	ended := beginShutdown(t, Listener{}, func(addr string) { c, in = dialPlain(t, addr) })
	if !roundTrip(t, c, in) {
		t.Error("the response does not say that the connection will be closed")
	}
	_ = c.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// halfHandshake is a connection that delays the second message of a client's TLS handshake.
type halfHandshake struct {
	net.Conn
	writes        int
	half, release chan struct{}
}

func (c *halfHandshake) Write(p []byte) (int, error) {
	if c.writes++; c.writes == 2 {
		close(c.half)
		<-c.release
	}
	return c.Conn.Write(p)
}

// TestShutdownDuringHandshake: a client whose TLS handshake has begun before Shutdown completes it, and its request is served.
func TestShutdownDuringHandshake(t *testing.T) {
	t.Parallel()
	files := newTLSFiles(t)
	var client *tls.Conn
	raw := &halfHandshake{half: make(chan struct{}), release: make(chan struct{})}
	shaken := make(chan error, 1)
	ended := beginShutdown(t, Listener{TLS: &files.server}, func(addr string) {
		raw.Conn, _ = dialPlain(t, addr)
		client = tls.Client(raw, files.client(t, "a.example", nil))
		go func() { shaken <- client.Handshake() }()
		<-raw.half
	})
	close(raw.release)
	if err := <-shaken; err != nil {
		t.Fatal(err)
	}
	if !roundTrip(t, client, bufio.NewReader(client)) {
		t.Error("the response does not say that the connection will be closed")
	}
	_ = client.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
