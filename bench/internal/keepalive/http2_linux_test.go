package keepalive

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"

	"example.com/ferry/bench/internal/keypair"
)

func newFiles(t *testing.T) keypair.Files {
	t.Helper()
	f, err := keypair.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// echo starts a server of net/http that sends each body back, and returns its address.
func echo(t *testing.T, f keypair.Files, secure bool, change func(w http.ResponseWriter, body []byte) []byte) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(secure)
	protocols.SetUnencryptedHTTP2(!secure)
	s := &http.Server{Protocols: protocols, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if change != nil {
			body = change(w, body)
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write(body) // the client counts a failure
	})}
	go func() {
		if secure {
			_ = s.ServeTLS(l, f.Cert, f.Key)
		} else {
			_ = s.Serve(l)
		}
	}()
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}

// The client works with the servers of net/http and with the backend.
func TestHTTP2Client(t *testing.T) {
	f := newFiles(t)
	for _, row := range []struct {
		name    string
		wire    Wire
		size    int
		secure  bool
		backend bool
	}{
		{"net/http", HTTP2, 1024, false, false},
		{"net/http, TLS", HTTP2, 1024, true, false},
		{"net/http, 1 MiB", HTTP2, 1 << 20, false, false},
		{"HTTP/1.1, TLS", HTTP1, 1024, true, false},
		{"backend", HTTP2, 1024, false, true},
		{"backend, TLS", HTTP2, 1024, true, true},
		{"backend, 1 MiB", HTTP2, 1 << 20, false, true},
		{"backend, 1 MiB, TLS", HTTP2, 1 << 20, true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var addr string
			if row.backend {
				a, err := FreeAddrs(1)
				if err != nil {
					t.Fatal(err)
				}
				b := Backend{Wire: row.wire, Addr: a[0], Size: row.size}
				if row.secure {
					b.Cert, b.Key = f.Cert, f.Key
				}
				p, err := b.Start(nil)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Stop()
				addr = a[0]
			} else {
				addr = echo(t, f, row.secure, nil)
			}
			s := Spec{Wire: row.wire, Addr: addr, Conns: 3, Streams: 7, Size: row.size}
			if row.secure {
				s.CA = f.Cert
			}
			c, err := StartClient(s)
			if err != nil {
				t.Fatal(err)
			}
			defer c.End()
			for _, rate := range []float64{0, 50} {
				r, err := c.RunUntil(Load{Rate: rate, Window: 200 * time.Millisecond}, 1)
				if err != nil {
					t.Fatal(err)
				}
				if r.Failures > 0 || r.Requests == 0 || r.Times.N == 0 {
					t.Errorf("rate %v: got %d responses, %d failures: %s", rate, r.Requests, r.Failures, r.Failure)
				}
			}
		})
	}
}

// The client detects a wrong response.
func TestHTTP2ClientSeesFaults(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(w http.ResponseWriter, body []byte) []byte
		want   string
	}{
		{"another status", func(w http.ResponseWriter, body []byte) []byte { w.WriteHeader(http.StatusBadGateway); return body }, `:status "502"`},
		{"another byte", func(_ http.ResponseWriter, body []byte) []byte { body[700] ^= 1; return body }, "another from byte"},
		{"another request's mark", func(_ http.ResponseWriter, body []byte) []byte { body[15] ^= 1; return body }, "a body with the mark"},
		{"a short body", func(_ http.ResponseWriter, body []byte) []byte { return body[:1000] }, "a body of 1000 bytes"},
		{"a long body", func(_ http.ResponseWriter, body []byte) []byte { return append(body, 'x') }, "a body of more than 1024"},
		{"a reset", func(http.ResponseWriter, []byte) []byte { panic(http.ErrAbortHandler) }, "RST_STREAM"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, err := connectHTTP2(Spec{Wire: HTTP2, Addr: echo(t, keypair.Files{}, false, row.change), Conns: 1, Streams: 1, Size: 1024})
			if err != nil {
				t.Fatal(err)
			}
			r, err := c.Run(Load{Rate: 20, Window: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if r.Failures == 0 || !strings.Contains(r.Failure, row.want) {
				t.Errorf("got %d failures, %q, want %q", r.Failures, r.Failure, row.want)
			}
		})
	}
}

// The backend works with the client of net/http, which verifies the protocol in its own way.
func TestHTTP2Backend(t *testing.T) {
	f := newFiles(t)
	a, err := FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Backend{Wire: HTTP2, Addr: a[0], Size: 300_000, Cert: f.Cert, Key: f.Key}.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	ca, err := os.ReadFile(f.Cert)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	client := http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	for number := range uint64(20) {
		body := newBody(300_000)
		mark(body, number)
		response, err := client.Post("https://"+a[0]+"/orders/1234", "text/plain", bytes.NewReader(body))
		if err != nil {
			t.Fatalf("%v: %s", err, p.Output())
		}
		got, err := io.ReadAll(response.Body)
		if err != nil || !bytes.Equal(got, body) || response.ProtoMajor != 2 || response.Header.Get("Server") != "bench" {
			t.Errorf("%s with %d bytes: %v", response.Status, len(got), err)
		}
	}
}

func TestChangesTable(t *testing.T) {
	var out bytes.Buffer
	e := hpack.NewEncoder(&out)
	encode := func(sensitive bool, fields ...string) []byte {
		out.Reset()
		for _, f := range fields {
			name, value, _ := strings.Cut(f, "=")
			if err := e.WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: sensitive}); err != nil {
				t.Fatal(err)
			}
		}
		return bytes.Clone(out.Bytes())
	}
	long := "x-long=" + strings.Repeat("x", 300)
	for _, row := range []struct {
		name  string
		block []byte
		want  bool
	}{
		{"a new field", encode(false, ":method=POST", "x-a=1"), true},
		{"the same field again", encode(false, ":method=POST", "x-a=1"), false},
		{"a field that is never indexed", encode(true, long, "x-a=1", "age=300"), false},
		{"and a new one behind it", append(encode(true, long), encode(false, "x-b=2")...), true},
		{"a size update", []byte{0x20}, true},
	} {
		if got := changesTable(row.block); got != row.want {
			t.Errorf("%s, % x: got %v, want %v", row.name, row.block, got, row.want)
		}
	}
}

func TestHandshakes(t *testing.T) {
	f := newFiles(t)
	addr := echo(t, f, true, nil)
	for _, wire := range []Wire{Handshake, Resumption} {
		c, err := StartClient(Spec{Wire: wire, Addr: addr, Conns: 3, CA: f.Cert, Protocol: "http/1.1", Cores: []int{0}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.End()
		r, err := c.RunUntil(Load{Window: 200 * time.Millisecond}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if r.Failures > 0 || r.Requests == 0 || r.Times.N == 0 {
			t.Errorf("%s: got %d handshakes, %d failures: %s", wire, r.Requests, r.Failures, r.Failure)
		}
	}
	// A client that does not know the server's certificate counts failures.
	c, err := StartClient(Spec{Wire: Handshake, Addr: addr, Conns: 1, CA: newFiles(t).Cert, Protocol: "http/1.1"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.End()
	if r, err := c.RunUntil(Load{Window: 50 * time.Millisecond}, 1); err != nil || r.Failures == 0 || !strings.Contains(r.Failure, "certificate") {
		t.Errorf("got %+v, %v", r, err)
	}
}
