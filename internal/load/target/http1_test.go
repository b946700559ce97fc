package target

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/internal/load"
	"example.com/ferry/transport/tcp"
)

// once runs a load of n requests of one worker.
func once(t *testing.T, target load.Target, n int) *load.Result {
	t.Helper()
	l, err := load.New(&load.Config{Workers: 1, Requests: n}, target)
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHTTP1(t *testing.T) {
	t.Parallel()
	var requests, conns atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		body, _ := io.ReadAll(r.Body)
		if r.Method != "POST" || string(body) != "payload" || r.Host != "a.example" || r.Header.Get("X-A") != "b" || r.URL.RawQuery != "q=1" {
			http.Error(w, fmt.Sprintf("%s %s %q %v", r.Method, r.URL, body, r.Header), http.StatusBadRequest)
			return
		}
		_, _ = w.Write(body)
	})
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, _ *http.Request) {
		for range 5 {
			_, _ = io.WriteString(w, strings.Repeat("x", 30_000))
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/close", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	mux.HandleFunc("/hints", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Large", strings.Repeat("x", 15_500)) })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "12345")
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	srv := httptest.NewUnstartedServer(mux)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	addr := srv.Listener.Addr().String()

	// The counts of both sides agree, and each worker has one connection.
	l, err := load.New(&load.Config{Workers: 8, Requests: 2000}, &HTTP1{Transport: tcp.New(nil), Addr: addr, Request: HTTPRequest{
		Path: "/echo?q=1", Header: [][2]string{{"Host", "a.example"}, {"X-A", "b"}}, Body: []byte("payload"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Run(t.Context())
	if err != nil || r.OK != 2000 || requests.Load() != 2000 || conns.Load() != 8 {
		t.Fatalf("%d OK, %d served on %d connections, %v, want 2000 on 8: %v", r.OK, requests.Load(), conns.Load(), err, r.Examples)
	}

	for _, row := range []struct {
		path   string
		verb   string
		expect int
		kind   string // of the failure
	}{
		{path: "/chunked"},
		{path: "/close"},
		{path: "/hints"},
		{path: "/large"},
		{path: "/chunked", verb: "HEAD"},
		{path: "/nothing", expect: 404},
		{path: "/nothing", kind: "status 404"},
		{path: "/hints", expect: 200, kind: "status 204"},
		{path: "/cut", kind: "connection closed by the server"},
		{path: "/slow", kind: "timeout"},
	} {
		timeout := time.Minute
		if row.path == "/slow" {
			timeout = 20 * time.Millisecond
		}
		r := once(t, &HTTP1{Transport: tcp.New(nil), Addr: addr, Request: HTTPRequest{Method: row.verb, Path: row.path, Expect: row.expect}, Timeout: timeout}, 3)
		if row.kind == "" && r.OK != 3 || row.kind != "" && (r.Failed != 3 || r.Failures[0].Kind != row.kind) {
			t.Errorf("%s: %d OK, failures %v %v, want %q", row.path, r.OK, r.Failures, r.Examples, row.kind)
		}
	}
}

// TestHTTP1Server checks responses that net/http does not send.
func TestHTTP1Server(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, response, kind string }{
		{"until close", "HTTP/1.0 200 OK\r\n\r\nbody", ""},
		{"not HTTP", "SSH-2.0-OpenSSH\r\n\r\n", "not HTTP/1.1"},
		{"too much", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", "error"},
		{"a tunnel", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "error"},
		{"nothing", "", "connection closed by the server"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			go func() {
				for {
					nc, err := ln.Accept()
					if err != nil {
						return
					}
					go func() {
						defer nc.Close()
						if _, err := nc.Read(make([]byte, 4096)); err == nil {
							_, _ = io.WriteString(nc, row.response)
						}
					}()
				}
			}()
			r := once(t, &HTTP1{Transport: tcp.New(nil), Addr: ln.Addr().String()}, 2)
			if row.kind == "" && r.OK != 2 || row.kind != "" && (r.Failed != 2 || r.Failures[0].Kind != row.kind) {
				t.Errorf("%d OK, failures %v %v, want %q", r.OK, r.Failures, r.Examples, row.kind)
			}
		})
	}
}

func TestHTTPRequest(t *testing.T) {
	t.Parallel()
	for _, bad := range []HTTPRequest{
		{Method: "A B"},
		{Path: "no slash"},
		{Header: [][2]string{{"X", "a\r\n\r\nb"}}},
		{Header: [][2]string{{"X Y", "a"}}},
		{Header: [][2]string{{"Connection", "upgrade"}, {"Upgrade", "websocket"}}},
		{Method: "CONNECT", Path: "a:1"},
	} {
		if _, err := (&HTTP1{Request: bad}).Connect(context.Background(), 0); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}
