package relay_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/rpc/relay"
	"example.com/ferry/transport/tcp"
)

// TestFieldsOfHTTP: a server of gRPC behind one of HTTP, which adds fields of its own such as Date, serves clients of HTTP/1.1. Metadata passes, and fields of
// HTTP, reserved names and values that are not ASCII do not, in both directions.
func TestFieldsOfHTTP(t *testing.T) {
	t.Parallel()
	var got http.Header
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Accept-Encoding", "identity")
		w.Header().Set("X-Head", "h")
		w.Header().Set("Trailer-X-Other", "not every protocol has such names")
		w.Header().Set("X-Latin", "caf\u00e9")
		w.Header().Set("Trailer", "Grpc-Status, X-Tail")
		_, _ = w.Write([]byte("\x00\x00\x00\x00\x012"))
		w.Header().Set("Grpc-Status", "0")
		w.Header().Set("X-Tail", "t")
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	gate := &relay.Gate{Dial: func(ctx context.Context, _ string, _ *call.Peer) (call.Conn, error) {
		return grpc.Protocol{}.Dial(ctx, tcp.New(nil), server.Listener.Addr().String())
	}}
	l, err := jsonrpc.Protocol{}.Listen(t.Context(), tcp.New(nil), "127.0.0.1:0", gate)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String()+"/a.B/M", strings.NewReader("1"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-A", "1")
	client := http.Client{Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || string(body) != "2" {
		t.Fatalf("got %s, %q, %v", resp.Status, body, err)
	}
	if got.Get("X-A") != "1" || resp.Header.Get("X-Head") != "h" || resp.Header.Get("Trailer-X-Tail") != "t" || resp.Header.Get("Accept-Encoding")+resp.Header.Get("Trailer-X-Other")+resp.Header.Get("X-Latin") != "" {
		t.Errorf("the server got %v, the client %v", got, resp.Header)
	}
}

// TestBodiesWithoutToken: clients without a token that stall in the middle of their bodies take no memory from a client with one.
func TestBodiesWithoutToken(t *testing.T) {
	t.Parallel()
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: content.All()})
	t.Cleanup(func() { _ = srv.Close() })
	rpc.Handle(srv, "greeter.Greeter.Length", func(_ context.Context, in *string) (*int, error) {
		n := len(*in)
		return &n, nil
	})
	service, err := srv.Listen(t.Context(), grpc.Protocol{}, tcp.New(nil), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gate := &relay.Gate{Dial: func(ctx context.Context, token string, _ *call.Peer) (call.Conn, error) {
		if token != "known" {
			return nil, call.Errorf(call.Unauthenticated, "no identity has the token %q", token)
		}
		return grpc.Protocol{}.Dial(ctx, tcp.New(nil), service.Addr().String())
	}}
	l, err := jsonrpc.Protocol{MaxServerHeld: 128 << 10}.Listen(t.Context(), tcp.New(nil), "127.0.0.1:0", gate)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	post := func(path, fields, body string, length int) (response string) {
		nc, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = fmt.Fprintf(nc, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", path, fields, length, body) // it may be refused meanwhile
		line, _ := bufio.NewReader(nc).ReadString('\n')
		return strings.TrimSpace(line)
	}
	body := strings.Repeat(" ", 200<<10)
	for _, path := range []string{"/greeter.Greeter/Length", "/"} {
		for _, fields := range []string{"", "Authorization: Bearer unknown\r\n", "Authorization: Basic eA==\r\n"} {
			if got := post(path, fields, body, 1<<20); got != "HTTP/1.1 401 Unauthorized" {
				t.Errorf("%s with half a body and %q: got %q, want 401", path, fields, got)
			}
		}
	}
	body = `"` + strings.Repeat("x", 100<<10) + `"`
	if got := post("/greeter.Greeter/Length", "Authorization: Bearer known\r\n", body, len(body)); got != "HTTP/1.1 200 OK" {
		t.Errorf("with a token: got %q, want 200", got)
	}
}
