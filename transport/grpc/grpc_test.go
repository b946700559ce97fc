package grpc_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/pki"
	"example.com/ferry/transport"
	"example.com/ferry/transport/grpc"
	"example.com/ferry/transport/transporttest"
)

const patience = 20 * time.Second

func loopback(*testing.T) string { return "127.0.0.1:0" }

// identity returns TLS configurations for a server and for clients that trust this server.
func identity(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	dir := t.TempDir()
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	client, err = pki.ClientTLS(filepath.Join(dir, pki.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	return id.ServerTLS(), client
}

func TestContract(t *testing.T) {
	server, client := identity(t)
	for name, subject := range map[string]transporttest.Subject{
		"grpc": {Server: grpc.New(nil), Client: grpc.New(nil)},
		"grpcs": {
			Server: grpc.NewTLS(&grpc.Config{ServerTLS: server}),
			Client: grpc.NewTLS(&grpc.Config{ClientTLS: client}),
		},
	} {
		subject.Addr, subject.NoCloseWrite = loopback, true
		subject.Stall = func(t *testing.T, addr string) {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
		t.Run(name, func(t *testing.T) { transporttest.Run(t, subject) })
	}
}

func listen(t *testing.T, c *grpc.Config) transport.Listener {
	t.Helper()
	l, err := grpc.New(c).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func accept(t *testing.T, l transport.Listener) transport.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := l.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// peer is a client of net/http, for cleartext HTTP/2. Its requests share a connection.
func peer(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// call posts a body to the listener.
func call(t *testing.T, c *http.Client, l transport.Listener, path, contentType string, body io.Reader) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String()+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	return c.Do(req)
}

func message(content string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(content))), content...)
}

// pieces is a body of which each Read returns n bytes.
type pieces struct {
	rest []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.n, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// TestMessages has a client whose messages lie in DATA in every way, on streams of one connection.
func TestMessages(t *testing.T) {
	t.Parallel()
	l, client := listen(t, nil), peer(t)
	body := bytes.Join([][]byte{message("one "), message(""), message("two "), message(strings.Repeat("x", 300))}, nil)
	for n := 1; n < 20; n++ {
		got := make(chan string, 1)
		go func() {
			conn, err := l.Accept(t.Context())
			if err != nil {
				got <- err.Error()
				return
			}
			p, err := io.ReadAll(conn)
			if err != nil {
				p = append(p, err.Error()...)
			}
			_, _ = conn.Write([]byte("thanks"))
			_ = conn.Close()
			got <- string(p)
		}()
		resp, err := call(t, client, l, grpc.Method, "application/grpc+proto", &pieces{body, n})
		if err != nil {
			t.Fatal(err)
		}
		response, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if want := message("thanks"); err != nil || !bytes.Equal(response, want) || resp.Trailer.Get("grpc-status") != "0" {
			t.Errorf("pieces of %d: response %q, %v, status %q, want %q", n, response, err, resp.Trailer.Get("grpc-status"), want)
		}
		if s := <-got; s != "one two "+strings.Repeat("x", 300) {
			t.Errorf("pieces of %d: the server got %.40q and %d bytes", n, s, len(s))
		}
	}
}

// TestRefused has calls that are not for this listener.
func TestRefused(t *testing.T) {
	t.Parallel()
	l, client := listen(t, nil), peer(t)
	resp, err := call(t, client, l, "/helloworld.Greeter/SayHello", "application/grpc", bytes.NewReader(message("x")))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || resp.Trailer.Get("grpc-status") != "12" {
		t.Errorf("another method: HTTP status %d, trailers %v, want 200 and UNIMPLEMENTED", resp.StatusCode, resp.Trailer)
	}
	for _, hint := range []string{"/helloworld.Greeter/SayHello", "ferry's own protocol", "use a client of ferry"} {
		if why := resp.Trailer.Get("grpc-message"); !strings.Contains(why, hint) {
			t.Errorf("another method: the message is %q, which does not say %q", why, hint)
		}
	}
	_ = resp.Body.Close()
	resp, err = call(t, client, l, grpc.Method, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 415 {
		t.Errorf("JSON: HTTP status %d, want 415", resp.StatusCode)
	}
	_ = resp.Body.Close()
}

// TestBrokenMessages makes Read fail: a compressed message, and a body that ends within one.
func TestBrokenMessages(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		body []byte
		want string
	}{
		"compressed":       {append([]byte{1}, message("x")[1:]...), "compressed"},
		"end in a prefix":  {message("x")[:3], io.ErrUnexpectedEOF.Error()},
		"end in a message": {message("xyz")[:6], io.ErrUnexpectedEOF.Error()},
	} {
		l, client := listen(t, nil), peer(t)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := call(t, client, l, grpc.Method, "application/grpc", bytes.NewReader(row.body)); err == nil {
				_ = resp.Body.Close()
			}
		}()
		conn := accept(t, l)
		if _, err := io.ReadAll(conn); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: Read = %v, want %s", name, err, row.want)
		}
		_ = conn.Close()
		<-done
	}
}

// TestNoServer dials a server of HTTP/2 that is none of gRPC, and one of gRPC that refuses.
func TestNoServer(t *testing.T) {
	t.Parallel()
	for want, handler := range map[string]http.HandlerFunc{
		"HTTP status 404": http.NotFound,
		"content-type":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"status 7": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("content-type", "application/grpc")
			w.Header().Set("grpc-status", "7")
			w.Header().Set("grpc-message", "not for you")
		},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: handler, Protocols: new(http.Protocols), ReadHeaderTimeout: patience}
		s.Protocols.SetUnencryptedHTTP2(true)
		served := make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		conn, err := grpc.New(nil).Dial(t.Context(), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read = %v, want %q", err, want)
		}
		_ = conn.Close()
		_ = s.Close()
		<-served
	}
}

// TestClosingServer dials a server that closes each connection at once.
func TestClosingServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	for range 50 {
		conn, err := grpc.New(nil).Dial(t.Context(), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("Read = %v, want an error that is not the end", err)
		}
		_ = conn.Close()
	}
	_ = l.Close()
	<-done
}

// TestSilentClient closes a connection without a call.
func TestSilentClient(t *testing.T) {
	t.Parallel()
	l := listen(t, &grpc.Config{HandshakeTimeout: 50 * time.Millisecond})
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Errorf("the silent connection ended with %v, want its end", err)
	}
}

func TestUntrustedServer(t *testing.T) {
	t.Parallel()
	server, _ := identity(t)
	_, stranger := identity(t)
	l, err := grpc.NewTLS(&grpc.Config{ServerTLS: server}).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := grpc.NewTLS(&grpc.Config{ClientTLS: stranger}).Dial(t.Context(), l.Addr().String())
	if err == nil {
		_ = conn.Close()
	}
	var unverified *tls.CertificateVerificationError
	if !errors.As(err, &unverified) {
		t.Errorf("Dial = %v, want a CertificateVerificationError", err)
	}
	if _, err := grpc.NewTLS(nil).Listen(t.Context(), "127.0.0.1:0"); err == nil {
		t.Error("grpcs listens without a certificate")
	}
}
