package node

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/config"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/transport"
	"example.com/ferry/transport/tcp"
)

type text = wrapperspb.StringValue

// greeter returns a server whose methods tell what they see.
func greeter() *rpc.Server {
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: content.All()})
	rpc.Handle(srv, "greeter.Greeter.Hello", func(ctx context.Context, in *text) (*text, error) {
		md := rpc.Header(ctx)
		if md.Get("authorization") != "" {
			return nil, call.Errorf(call.Internal, "the token reaches the service")
		}
		_ = rpc.SetHeader(ctx, "x-first", "1")
		_ = rpc.SetTrailer(ctx, "x-seen", md.Get("x-client"))
		switch in.Value {
		case "nobody":
			return nil, &call.Status{Code: call.NotFound, Message: "no such person", Details: []call.Detail{{Type: "type.googleapis.com/a.B", Value: []byte{8, 1}}}}
		case "slow":
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return wrapperspb.String("Hello, " + in.Value), nil
	})
	rpc.HandleBidi(srv, "greeter.Greeter.Chat", func(ctx context.Context, in *rpc.Receiver[text], out *rpc.Sender[text]) error {
		for {
			m, err := in.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if m.Value == "slow" {
				<-ctx.Done()
				return ctx.Err()
			}
			if err := out.Send(wrapperspb.String("Hello, " + m.Value)); err != nil {
				return err
			}
		}
	})
	return srv
}

// gateNode is the configuration of a node with a gate, and of its clients.
func gateNode(t *testing.T) *config.Config {
	cfg := quiet(t)
	cfg.Listeners = []config.Listener{{Address: "tcp://127.0.0.1:0"}, {Address: "h2c://127.0.0.1:0"}}
	cfg.Identities = []config.Identity{
		{Name: "device", Token: "device-token-0000", Serve: []string{"greeter.*"}},
		{Name: "caller", Token: "caller-token-0000", Call: []string{"greeter.*"}},
		{Name: "other", Token: "other-token-00000", Call: []string{"other.*"}},
	}
	return cfg
}

// serveThrough serves greeter through the node, over the connection of a client that listens nowhere.
func serveThrough(t *testing.T, n *Node) {
	t.Helper()
	c, err := client(t, n, "tcp", "device-token-0000")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- rpc.Serve(ctx, c, greeter()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve = %v", err)
		}
		_ = c.Close()
	})
}

// dialGate returns an ordinary client of gRPC.
func dialGate(t *testing.T, n *Node, scheme string, by transport.Transport) *rpc.Client {
	t.Helper()
	c, err := tryGate(t, n, scheme, by)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tryGate(t *testing.T, n *Node, scheme string, by transport.Transport) (*rpc.Client, error) {
	t.Helper()
	for _, a := range n.Addresses() {
		if addr, ok := strings.CutPrefix(a, scheme+"://"); ok {
			c, err := rpc.Dial(t.Context(), by.Scheme()+"://"+addr, &rpc.ClientConfig{
				Protocol: grpc.Protocol{}, Transports: []transport.Transport{by}, Contents: content.All(),
			})
			if err == nil {
				t.Cleanup(func() { _ = c.Close() })
			}
			return c, err
		}
	}
	t.Fatalf("no %s listener in %v", scheme, n.Addresses())
	return nil, nil
}

// as returns the context of calls with a token.
func as(t *testing.T, token string, more ...string) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return rpc.WithMetadata(ctx, append(more, "authorization", "Bearer "+token)...)
}

// hello calls Hello until the service is offered.
func hello(t *testing.T, ctx context.Context, c *rpc.Client, name string, opts ...rpc.CallOption) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		out, err := rpc.Call[text](ctx, c, "greeter.Greeter.Hello", wrapperspb.String(name), append(opts, rpc.WithContent("application/protobuf"))...)
		if code := codeOf(err); (code == call.Unimplemented || code == call.Unavailable) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		return out.GetValue(), err
	}
}

// TestGate: an ordinary client of gRPC calls a service whose process only dials the node. Metadata, statuses, deadlines, cancelling and streams arrive.
func TestGate(t *testing.T) {
	t.Parallel()
	n := build(t, gateNode(t))
	run(t, n)
	serveThrough(t, n)
	c := dialGate(t, n, "h2c", tcp.New(nil))
	ctx := as(t, "caller-token-0000", "x-client", "me")

	var header, trailer call.Metadata
	got, err := hello(t, ctx, c, "Bo", rpc.ReceiveHeader(&header), rpc.ReceiveTrailer(&trailer))
	if err != nil || got != "Hello, Bo" || header.Get("x-first") != "1" || trailer.Get("x-seen") != "me" {
		t.Fatalf("Hello = %q, %v, header %v, trailer %v", got, err, header, trailer)
	}
	_, err = hello(t, ctx, c, "nobody")
	if s := call.StatusOf(err); s.Code != call.NotFound || s.Message != "no such person" || len(s.Details) != 1 {
		t.Errorf("the handler's error arrives as %v with %d details", err, len(s.Details))
	}
	if _, err = hello(t, ctx, c, "slow", rpc.Timeout(30*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after its deadline a call ends with %v", err)
	}
	s, err := rpc.Open[text, text](ctx, c, "greeter.Greeter.Chat", rpc.WithContent("application/protobuf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Bo", "", strings.Repeat("x", 300<<10)} { // each response precedes the next request
		if err := s.Send(wrapperspb.String(name)); err != nil {
			t.Fatal(err)
		}
		if out, err := s.Recv(); err != nil || out.Value != "Hello, "+name {
			t.Fatalf("Chat = %.40q, %v", out.GetValue(), err)
		}
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end of the stream is %v", err)
	}
	if s, err = rpc.Open[text, text](ctx, c, "greeter.Greeter.Chat", rpc.WithContent("application/protobuf")); err != nil {
		t.Fatal(err)
	}
	if err := s.Send(wrapperspb.String("slow")); err != nil {
		t.Fatal(err)
	}
	s.Cancel()
	if _, err := s.Recv(); !errors.Is(err, context.Canceled) {
		t.Errorf("a stream that was cancelled ends with %v", err)
	}
}

// TestGateIdentities: what a client may call is decided by its token, for each call, and by the present configuration.
func TestGateIdentities(t *testing.T) {
	t.Parallel()
	cfg := gateNode(t)
	n := build(t, cfg)
	run(t, n)
	serveThrough(t, n)
	c := dialGate(t, n, "h2c", tcp.New(nil)) // one connection for all
	if _, err := hello(t, as(t, "caller-token-0000"), c, "Bo"); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		ctx  context.Context
		want call.Code
	}{
		"no token":              {t.Context(), call.Unauthenticated},
		"unknown token":         {as(t, "unknown-token-000"), call.Unauthenticated},
		"another scheme":        {rpc.WithMetadata(t.Context(), "authorization", "Basic x"), call.Unauthenticated},
		"two tokens":            {rpc.WithMetadata(as(t, "caller-token-0000"), "authorization", "Bearer other-token-00000"), call.Unauthenticated},
		"no grant":              {as(t, "other-token-00000"), call.PermissionDenied},
		"after all these calls": {as(t, "caller-token-0000"), call.OK},
	} {
		_, err := hello(t, row.ctx, c, "Bo")
		if got := codeOf(err); got != row.want {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
	}
	next := *cfg
	next.Identities = cfg.Identities[:1]
	if err := n.Apply(&next); err != nil {
		t.Fatal(err)
	}
	if _, err := hello(t, as(t, "caller-token-0000"), c, "Bo"); call.StatusOf(err).Code != call.Unauthenticated {
		t.Errorf("after its identity was removed, a client's call ends with %v", err)
	}
}

// TestGateCertificate: over TLS, a client's certificate identifies it.
func TestGateCertificate(t *testing.T) {
	t.Parallel()
	cfg := gateNode(t)
	cfg.Listeners[1].Address = "h2://127.0.0.1:0"
	cfg.Identities[1].Token, cfg.Identities[1].CommonName = "", "caller"
	ca := certstest.NewCA(t, "clients")
	cfg.Listeners[1].ClientCAFile = ca.Write(t, t.TempDir(), "clients")
	n := build(t, cfg)
	run(t, n)
	serveThrough(t, n)
	trust, err := pki.ClientTLS(filepath.Join(cfg.DataDir, pki.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	known := trust.Clone()
	known.Certificates = []tls.Certificate{ca.Issue(t, certstest.Leaf{CommonName: "caller"}).TLS(t)}
	for name, row := range map[string]struct {
		tls  *tls.Config
		want call.Code
	}{"with it": {known, call.OK}, "without it": {trust, call.Unauthenticated}} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := hello(t, ctx, dialGate(t, n, "h2", tcp.NewTLS(&tcp.Config{ClientTLS: row.tls})), "Bo")
		cancel()
		if got := codeOf(err); got != row.want {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
	}
}

// TestGateJSON: POST with JSON reaches a service at the address where clients of gRPC do.
func TestGateJSON(t *testing.T) {
	t.Parallel()
	n := build(t, gateNode(t))
	run(t, n)
	serveThrough(t, n)
	if _, err := hello(t, as(t, "caller-token-0000"), dialGate(t, n, "h2c", tcp.New(nil)), "Bo"); err != nil {
		t.Fatal(err)
	}
	addr := addressOf(t, n, "h2c://127.0.0.1:0")
	two := &http.Transport{Protocols: new(http.Protocols)}
	two.Protocols.SetUnencryptedHTTP2(true)
	defer two.CloseIdleConnections()
	post := func(by http.RoundTripper, token, path, body string) (status int, response string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := (&http.Client{Transport: by}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(data)
	}
	for _, row := range []struct {
		what, token, path, body string
		status                  int
		want                    string
	}{
		{"a call", "caller-token-0000", "/greeter.Greeter/Hello", `{"value":"Bo"}`, 200, "Hello, Bo"},
		{"JSON-RPC", "caller-token-0000", "/", `{"jsonrpc":"2.0","id":1,"method":"greeter.Greeter.Hello","params":{"value":"Bo"}}`, 200, "Hello, Bo"},
		{"an error of the handler", "caller-token-0000", "/greeter.Greeter/Hello", `{"value":"nobody"}`, 404, "no such person"},
		{"a stream with one message", "caller-token-0000", "/greeter.Greeter/Chat", `{"value":"Bo"}`, 200, "Hello, Bo"},
		{"no grant", "other-token-00000", "/greeter.Greeter/Hello", `{"value":"Bo"}`, 403, "permission_denied"},
		{"an unknown token", "unknown-token-000", "/greeter.Greeter/Hello", `{"value":"Bo"}`, 401, "unauthenticated"},
	} {
		for version, by := range map[string]http.RoundTripper{"HTTP/1.1": http.DefaultTransport, "HTTP/2": two} {
			if status, response := post(by, row.token, row.path, row.body); status != row.status || !strings.Contains(response, row.want) {
				t.Errorf("%s over %s: HTTP status %d, %q, want %d and %q", row.what, version, status, response, row.status, row.want)
			}
		}
	}
}

// TestServeTo: the node offers services of servers that know nothing of ferry to its clients, over gRPC and as POST with JSON, and drops and adds
// them in a reload.
func TestServeTo(t *testing.T) {
	t.Parallel()
	srv := greeter()
	t.Cleanup(func() { _ = srv.Close() })
	overGRPC, err := srv.Listen(t.Context(), grpc.Protocol{}, tcp.New(nil), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	overHTTP, err := srv.Listen(t.Context(), jsonrpc.Protocol{}, tcp.New(nil), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := gateNode(t)
	cfg.Serve = []config.Serve{{Service: "greeter.Greeter", To: "grpc://" + overGRPC.Addr().String()}}
	n := build(t, cfg)
	run(t, n)
	c := dialGate(t, n, "h2c", tcp.New(nil))
	ctx := as(t, "caller-token-0000", "x-client", "me")
	var trailer call.Metadata
	out, err := rpc.Call[text](ctx, c, "greeter.Greeter.Hello", wrapperspb.String("Bo"), rpc.WithContent("application/protobuf"), rpc.ReceiveTrailer(&trailer))
	if got := out.GetValue(); err != nil || got != "Hello, Bo" || trailer.Get("x-seen") != "me" { // a node that is ready offers the service
		t.Fatalf("Hello = %q, %v, trailer %v", got, err, trailer)
	}
	s, err := rpc.Open[text, text](ctx, c, "greeter.Greeter.Chat", rpc.WithContent("application/protobuf"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(wrapperspb.String("Bo")); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Recv(); err != nil || out.Value != "Hello, Bo" {
		t.Fatalf("Chat = %q, %v", out.GetValue(), err)
	}
	s.Cancel()

	next := *cfg
	next.Serve = []config.Serve{{Service: "greeter.Greeter", To: "http://" + overHTTP.Addr().String()}}
	if err := n.Apply(&next); err != nil {
		t.Fatal(err)
	}
	if err := overGRPC.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := hello(t, ctx, c, "Bo", rpc.ReceiveTrailer(&trailer)); err != nil || got != "Hello, Bo" || trailer.Get("x-seen") != "me" {
		t.Fatalf("over HTTP: Hello = %q, %v, trailer %v", got, err, trailer)
	}
	_, err = hello(t, ctx, c, "nobody")
	if s := call.StatusOf(err); s.Code != call.NotFound || s.Message != "no such person" || len(s.Details) != 1 {
		t.Errorf("over HTTP: the handler's error arrives as %v", err)
	}
	gone := next
	gone.Serve = nil
	if err := n.Apply(&gone); err != nil {
		t.Fatal(err)
	}
	for code := call.OK; code != call.Unavailable && code != call.Unimplemented; {
		_, err := rpc.Call[text](ctx, c, "greeter.Greeter.Hello", wrapperspb.String("Bo"), rpc.WithContent("application/protobuf"))
		if code = codeOf(err); ctx.Err() != nil {
			t.Fatal("the service is offered after the reload that has removed it")
		}
	}
}

func codeOf(err error) call.Code {
	if s := call.StatusOf(err); s != nil {
		return s.Code
	}
	return call.OK
}

// TestGatePlaces: connections that stay silent, or send the preface of HTTP/2 alone, keep no client with a token out.
func TestGatePlaces(t *testing.T) {
	t.Parallel()
	cfg := gateNode(t)
	cfg.Limits.MaxConnections = 6
	n := build(t, cfg)
	run(t, n)
	serveThrough(t, n)
	ctx := as(t, "caller-token-0000")
	early := dialGate(t, n, "h2c", tcp.New(nil))
	if _, err := hello(t, ctx, early, "Bo"); err != nil {
		t.Fatal(err)
	}
	for _, first := range []string{"", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "POST / HTTP/1.1\r\n"} {
		var oldest net.Conn
		for i := range 2 * cfg.Limits.MaxConnections {
			nc, err := net.Dial("tcp", addressOf(t, n, "h2c://127.0.0.1:0"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = nc.Close() })
			_, _ = io.WriteString(nc, first) // it may be closed meanwhile
			if i == 0 {
				oldest = nc
			}
		}
		_ = oldest.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.Copy(io.Discard, oldest); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: the oldest connection is open", first)
		}
		late, cancel := context.WithTimeout(ctx, 5*time.Second)
		for { // a silent connection that the node takes after the client's may end it: the client dials again
			c, err := tryGate(t, n, "h2c", tcp.New(nil))
			if err == nil {
				_, err = hello(t, late, c, "Bo")
				_ = c.Close() // its place of max_connections is free
			}
			if err == nil {
				break
			}
			if late.Err() != nil {
				t.Fatalf("%q: a further client: %v", first, err)
			}
		}
		cancel()
	}
	if _, err := rpc.Call[text](ctx, early, "greeter.Greeter.Hello", wrapperspb.String("Bo"), rpc.WithContent("application/protobuf")); err != nil {
		t.Errorf("the client that was there before: %v", err)
	}
}

// TestGateTimeout: a connection without a call that has a token ends at handshake_timeout.
func TestGateTimeout(t *testing.T) {
	t.Parallel()
	cfg := gateNode(t)
	cfg.Limits.HandshakeTimeout = 100 * time.Millisecond
	n := build(t, cfg)
	run(t, n)
	for _, first := range []string{"", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"} {
		nc, err := net.Dial("tcp", addressOf(t, n, "h2c://127.0.0.1:0"))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		_, _ = io.WriteString(nc, first)
		_ = nc.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.Copy(io.Discard, nc); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: the connection is open", first)
		}
	}
}
