package upstream_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/upstream"
)

// grpcServer starts a server of cleartext HTTP/2 with prior knowledge.
func grpcServer(t *testing.T, h http.HandlerFunc) loop.Addr {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	to, err := loop.ParseAddr(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// grpcResponse responds with a message and a status in the trailers, as grpc-go does.
func grpcResponse(w http.ResponseWriter, body, status string) {
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
	_, _ = io.WriteString(w, body)
	w.Header().Set("Grpc-Status", status)
}

func TestProbeGRPC(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	const serving = "\x00\x00\x00\x00\x02\x08\x01"
	for _, row := range []struct {
		name    string
		service string
		asked   string // message of the request, with its prefix
		answer  string
		status  string
		want    string // expected error
	}{
		{"serving", "", "\x00\x00\x00\x00\x00", serving, "0", ""},
		{"a service", "a.B", "\x00\x00\x00\x00\x05\x0a\x03a.B", serving, "0", ""},
		{"a long name", long, "\x00\x00\x00\x00\xcb\x0a\xc8\x01" + long, serving, "0", ""},
		{"further fields", "", "\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x17\x12\x02ab\x19\x01\x02\x03\x04\x05\x06\x07\x08\x25\x01\x02\x03\x04\x28\x80\x01\x08\x01", "0", ""},
		{"not serving", "", "\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x02\x08\x02", "0", "the service is NOT_SERVING"},
		{"the default value", "", "\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x00", "0", "the service is UNKNOWN"},
		{"a later status", "", "\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x02\x08\x09", "0", "the service is in status 9"},
		{"an unknown service", "a.B", "\x00\x00\x00\x00\x05\x0a\x03a.B", "", "5", "grpc-status 5: the server does not know the service"},
		{"no health service", "", "\x00\x00\x00\x00\x00", "", "12", "grpc-status 12: the server has no health service"},
		{"another status", "", "\x00\x00\x00\x00\x00", "", "14", `grpc-status "14"`},
		{"no status", "", "\x00\x00\x00\x00\x00", serving, "", "no grpc-status"},
		{"no message", "", "\x00\x00\x00\x00\x00", "", "0", "not one message"},
		{"half a message", "", "\x00\x00\x00\x00\x00", serving[:6], "0", "not one message"},
		{"two messages", "", "\x00\x00\x00\x00\x00", serving + serving, "0", "not one message"},
		{"a compressed message", "", "\x00\x00\x00\x00\x00", "\x01" + serving[1:], "0", "not one message"},
		{"a long message", "", "\x00\x00\x00\x00\x00", strings.Repeat("x", 5000), "0", "more than 4096 bytes"},
		{"a malformed message", "", "\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x02\x0a\x05", "0", "malformed"},
		{"a group", "", "\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x02\x0b\x0c", "0", "malformed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			to := grpcServer(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if string(body) != row.asked || r.Method != "POST" || r.URL.Path != "/grpc.health.v1.Health/Check" || r.ProtoMajor != 2 {
					t.Errorf("asked %s %s HTTP/%d %q, want %q", r.Method, r.URL, r.ProtoMajor, body, row.asked)
				}
				if h := r.Header; h.Get("Content-Type") != "application/grpc" || h.Get("Te") != "trailers" || !strings.HasSuffix(h.Get("Grpc-Timeout"), "m") {
					t.Errorf("asked with %v", h)
				}
				if r.Host != r.Context().Value(http.LocalAddrContextKey).(net.Addr).String() {
					t.Errorf("asked host %s", r.Host)
				}
				if row.answer == "" && row.status != "0" { // without a body, the status is in the head
					w.Header().Set("Content-Type", "application/grpc")
					w.Header().Set("Grpc-Status", row.status)
					return
				}
				grpcResponse(w, row.answer, row.status)
			})
			probe(t, upstream.Health{Kind: upstream.HealthGRPC, Service: row.service}, to, row.want)
		})
	}
}

func TestProbeGRPCElsewhere(t *testing.T) {
	t.Parallel()
	h := upstream.Health{Kind: upstream.HealthGRPC}
	probe(t, h, grpcServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }), "status 404")
	probe(t, h, refusing(t), "refused")
	probe(t, h, http1Server(t), "http2")
}

// http1Server returns the address of a server that refuses HTTP/2's preface as HTTP/1.1 does, and leaves the client to close the
// connection. A server that closed first could make the client's write fail before it reads the refusal.
func http1Server(t *testing.T) loop.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn)
	}()
	to, err := loop.ParseAddr(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func FuzzServingStatus(f *testing.F) {
	for _, seed := range []string{"", "\x08\x01", "\x12\x02ab\x08\x01", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x09\x01"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		status, err := upstream.ServingStatus(message)
		// A later field 1 replaces an earlier one.
		again, second := upstream.ServingStatus(append(bytes.Clone(message), 8, 1))
		if err == nil && (second != nil || again != 1) || err != nil && status != 0 {
			t.Errorf("%x: %d, %v; with SERVING behind it %d, %v", message, status, err, again, second)
		}
	})
}
