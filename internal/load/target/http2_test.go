package target

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/internal/load"
	"example.com/ferry/transport"
	"example.com/ferry/transport/tcp"
)

// TestHTTP2 sends requests to net/http, with prior knowledge and over TLS.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	var requests, conns, old atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.ProtoMajor != 2 {
			old.Add(1)
		}
		n, _ := io.Copy(w, r.Body)
		if r.Host != "a.example" || r.Header.Get("X-A") != "b" || n != r.ContentLength {
			t.Errorf("%s %s of %d bytes, %v", r.Host, r.URL, n, r.Header)
		}
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		for range 10 {
			_, _ = io.WriteString(w, strings.Repeat("x", 100_000))
		}
		w.Header().Set(http.TrailerPrefix+"x-end", "1")
	})
	mux.HandleFunc("/unread", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for _, secure := range []bool{false, true} {
		srv := httptest.NewUnstartedServer(mux)
		srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				conns.Add(1)
			}
		}
		srv.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 3} // fewer than workers
		var tr transport.Transport
		if secure {
			srv.EnableHTTP2 = true
			srv.StartTLS()
			roots := x509.NewCertPool()
			roots.AddCert(srv.Certificate())
			tr = tcp.NewTLS(&tcp.Config{ClientTLS: &tls.Config{RootCAs: roots}}).WithALPN("h2")
		} else {
			srv.Config.Protocols = new(http.Protocols)
			srv.Config.Protocols.SetUnencryptedHTTP2(true)
			srv.Start()
			tr = tcp.New(nil)
		}
		t.Cleanup(srv.Close)
		addr := srv.Listener.Addr().String()
		requests.Store(0)
		conns.Store(0)
		l, err := load.New(&load.Config{Workers: 20, Requests: 1000}, &HTTP2{Transport: tr, Addr: addr, Conns: 2, Request: HTTPRequest{
			Path: "/echo", Header: [][2]string{{"host", "a.example"}, {"X-A", "b"}}, Body: []byte(strings.Repeat("x", 1000)),
		}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Run(t.Context())
		if err != nil || r.OK != 1000 || requests.Load() != 1000 || old.Load() != 0 || conns.Load() != 2 {
			t.Fatalf("TLS %v: %v, %d served on %d connections, want 1000 on 2: %+v", secure, err, requests.Load(), conns.Load(), r)
		}
		for _, row := range []struct {
			path string
			body int
			kind string
		}{
			{path: "/large"},
			{path: "/unread", body: 10 << 20},
			{path: "/nothing", kind: "status 404"},
			{path: "/abort", kind: "stream reset"},
			{path: "/slow", kind: "timeout"},
		} {
			timeout := time.Minute
			if row.path == "/slow" {
				timeout = 20 * time.Millisecond
			}
			r := once(t, &HTTP2{Transport: tr, Addr: addr, Timeout: timeout, Request: HTTPRequest{Path: row.path, Body: make([]byte, row.body)}}, 3)
			if row.kind == "" && r.OK != 3 || row.kind != "" && (r.Failed != 3 || r.Failures[0].Kind != row.kind) {
				t.Errorf("TLS %v, %s: %d OK, failures %v %v, want %q", secure, row.path, r.OK, r.Failures, r.Examples, row.kind)
			}
		}
	}
}

// TestHTTP2Refused checks that a server without HTTP/2 is an error at the start.
func TestHTTP2Refused(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	_, err := (&HTTP2{Transport: tcp.New(nil), Addr: srv.Listener.Addr().String()}).Connect(t.Context(), 0)
	if err == nil || !strings.Contains(err.Error(), "does not speak HTTP/2") {
		t.Errorf("got %v", err)
	}
}
