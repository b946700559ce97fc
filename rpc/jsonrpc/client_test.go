package jsonrpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/transport"
	"example.com/ferry/transport/tcp"
)

// TestCalls makes calls in all content types, with and without compression.
func TestCalls(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{})
	c := dial(t, addr)
	for _, content := range contents(t) {
		for _, compression := range []string{"", "gzip", "zstd"} {
			t.Run(content.Type+compression, func(t *testing.T) {
				t.Parallel()
				options := []rpc.CallOption{rpc.WithContent(content.Type), rpc.Compress(compression)}
				name := strings.Repeat("Bo", 100_000)
				out, err := rpc.Call[helloReply](t.Context(), c, "greeter.Greeter.Hello", &helloRequest{name}, options...)
				if err != nil || out.Message != "Hello, "+name {
					t.Errorf("got %.100v, %v", out, err)
				}
				if sum, err := rpc.Call[int](t.Context(), c, "Greeter.Sum", &[]int{1, 2, 3}, options...); err != nil || *sum != 6 {
					t.Errorf("got %v, %v, want 6", sum, err)
				}
				if sum, err := rpc.Call[int](t.Context(), c, "Greeter.Sum", &[]int{5}, options...); err != nil || *sum != 5 {
					t.Errorf("a list of one: got %v, %v, want 5", sum, err)
				}
				_, err = rpc.Call[helloReply](t.Context(), c, "greeter.Greeter.Fail", &helloRequest{}, options...)
				s := call.StatusOf(err)
				if s.Code != call.NotFound || s.Message != "no user 5" {
					t.Errorf("got %v, want the status", err)
				}
				if details := len(s.Details) == 1 && s.Details[0].Type == "a.B"; details != (content.Type != "application/json-rpc") { // 1.0 has no place for them
					t.Errorf("got details %v", s.Details)
				}
				_, err = rpc.Call[helloReply](t.Context(), c, "greeter.Greeter.Nothing", &helloRequest{}, options...)
				if call.StatusOf(err).Code != call.Unimplemented {
					t.Errorf("got %v, want Unimplemented", err)
				}
			})
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{})
	c := dial(t, addr)
	ctx := rpc.WithMetadata(t.Context(), "x-a", "1", "x-a", "2", "x-b-bin", "\x00\xff")
	var header, trailer call.Metadata
	out, err := rpc.Call[helloReply](ctx, c, "greeter.Greeter.Echo", &helloRequest{}, rpc.ReceiveHeader(&header), rpc.ReceiveTrailer(&trailer))
	if err != nil || out.Message != "x-a=1 x-a=2 x-b-bin=\x00\ufffd" { // JSON has no other bytes than UTF-8
		t.Errorf("got %q, %v", out, err)
	}
	if header.Get("x-head") != "h" || header.Get("x-head-bin") != "\x00\xff" || trailer.Get("x-tail") != "t" || len(trailer) != 1 {
		t.Errorf("got header %v, trailer %v", header, trailer)
	}
	for _, name := range []string{"content-length", "host", "trailer-x"} {
		ctx = rpc.WithMetadata(t.Context(), name, "5")
		if _, err := rpc.Call[helloReply](ctx, c, "greeter.Greeter.Echo", &helloRequest{}); call.StatusOf(err).Code != call.InvalidArgument {
			t.Errorf("%s: got %v, want InvalidArgument for a field of HTTP", name, err)
		}
	}
}

// TestDeadlineAndCancel ends calls that wait. The handler's context ends, too: otherwise Drain would not return.
func TestDeadlineAndCancel(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	addr, l := listen(t, srv, jsonrpc.Protocol{})
	c := dial(t, addr)
	_, err := rpc.Call[helloReply](t.Context(), c, "greeter.Greeter.Wait", &helloRequest{}, rpc.Timeout(20*time.Millisecond))
	if call.StatusOf(err).Code != call.DeadlineExceeded {
		t.Errorf("got %v, want DeadlineExceeded", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err = rpc.Call[helloReply](ctx, c, "greeter.Greeter.Wait", &helloRequest{}); call.StatusOf(err).Code != call.Canceled {
		t.Errorf("got %v, want Canceled", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := l.Drain(ctx); err != nil {
		t.Errorf("Drain: %v", err)
	}
}

// TestStreams opens a stream, which JSON-RPC does not have.
func TestStreams(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{})
	nc := rawConn(t, addr, jsonrpc.Protocol{})
	if _, err := nc.Open(t.Context(), &call.Head{Method: "greeter.Greeter.Stream", Content: "application/json"}); call.StatusOf(err).Code != call.Unimplemented {
		t.Errorf("got %v, want Unimplemented", err)
	}
	var resp call.Response
	if err := nc.Call(t.Context(), &call.Head{Method: "m", Content: "application/cbor"}, nil, &resp); call.StatusOf(err).Code != call.InvalidArgument || !resp.Unsent {
		t.Errorf("got %v, unsent %v, want InvalidArgument, unsent", err, resp.Unsent)
	}
}

// rawConn returns a connection without package rpc.
func rawConn(t *testing.T, addr string, p jsonrpc.Protocol) call.Conn {
	t.Helper()
	nc, err := p.Dial(t.Context(), tcp.New(nil), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close(context.Background()) })
	return nc
}

// TestDrainUnderLoad drains a server while clients call it. A second server, on the same target, takes over. No call fails.
func TestDrainUnderLoad(t *testing.T) {
	t.Parallel()
	first, l := listen(t, newServer(t), jsonrpc.Protocol{})
	second, _ := listen(t, newServer(t), jsonrpc.Protocol{})
	c := dial(t, first+","+second)
	var wg sync.WaitGroup
	var calls, failures atomic.Int64
	stop := make(chan struct{})
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				calls.Add(1)
				if _, err := rpc.Call[helloReply](t.Context(), c, "greeter.Greeter.Hello", &helloRequest{"Bo"}); err != nil && failures.Add(1) == 1 {
					t.Error(err)
				}
			}
		})
	}
	await(t, "calls", func() bool { return calls.Load() > 200 })
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := l.Drain(ctx); err != nil {
		t.Errorf("Drain: %v", err)
	}
	after := calls.Load()
	await(t, "calls after the drain", func() bool { return calls.Load() > after+200 })
	close(stop)
	wg.Wait()
	if n := failures.Load(); n > 0 {
		t.Errorf("%d of %d calls failed", n, calls.Load())
	}
}

// late delays what a client sends, as a network does.
type late struct {
	*tcp.Transport
	by *atomic.Int64
}

func (l late) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	nc, err := l.Transport.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &lateConn{Conn: nc, by: l.by}, nil
}

type lateConn struct {
	net.Conn
	by *atomic.Int64
}

func (c *lateConn) Write(p []byte) (int, error) {
	p = slices.Clone(p)
	time.AfterFunc(time.Duration(c.by.Load()), func() { _, _ = c.Conn.Write(p) })
	return len(p), nil
}

// TestDrainOfIdleClients: a call that is on its way while its server begins to drain goes to another server, although no call of its
// client was in progress, whenever it is made.
func TestDrainOfIdleClients(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 500 * time.Millisecond, 900 * time.Millisecond, 1100 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			srv := newServer(t)
			first, _ := listen(t, srv, jsonrpc.Protocol{})
			second, _ := listen(t, newServer(t), jsonrpc.Protocol{})
			var delay atomic.Int64
			c, err := rpc.Dial(t.Context(), "tcp://"+first+","+second, &rpc.ClientConfig{
				Protocol: jsonrpc.Protocol{}, Contents: contents(t), Policy: rpc.RoundRobin, Timeout: limit,
				Transports: []transport.Transport{late{tcp.New(nil), &delay}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			hello := func() error {
				_, err := rpc.Call[helloReply](t.Context(), c, "greeter.Greeter.Hello", &helloRequest{"Bo"})
				return err
			}
			await(t, "calls to both servers", func() bool {
				if err := hello(); err != nil {
					t.Fatal(err)
				}
				return slices.ContainsFunc(srv.Metrics().Methods, func(m rpc.MethodMetrics) bool { return m.Codes[call.OK] > 0 })
			})
			delay.Store(int64(100 * time.Millisecond))
			drained := make(chan error, 1)
			go func() { drained <- srv.Drain(t.Context()) }()
			time.Sleep(after)
			errs := make(chan error, 4)
			for range cap(errs) {
				go func() { errs <- hello() }()
			}
			for range cap(errs) {
				if err := <-errs; err != nil {
					t.Errorf("a call is lost, although another server is there: %v", err)
				}
			}
			if err := <-drained; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestConnectionClose calls servers that end each connection after its response, as HTTP/1.1 servers and proxies may. That is no drain: the next call
// opens another connection at once.
func TestConnectionClose(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]string{
		"HTTP/1.1": "HTTP/1.1 200 OK\r\nConnection: close\r\n",
		"HTTP/1.0": "HTTP/1.0 200 OK\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				nc, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer nc.Close()
				text := strings.Replace(`{"jsonrpc":"2.0","result":{"message":"yes"},"id":ID}`, "ID", idOf(body), 1)
				if r.Method == http.MethodOptions {
					text = ""
				}
				fmt.Fprintf(nc, "%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", response, len(text), text)
			}))
			defer web.Close()
			c, err := rpc.Dial(t.Context(), "tcp://"+web.Listener.Addr().String(), &rpc.ClientConfig{
				Protocol: jsonrpc.Protocol{}, Contents: contents(t), Timeout: limit, MinBackoff: time.Hour, MaxBackoff: time.Hour,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for i := range 50 {
				if _, err := rpc.Call[helloReply](t.Context(), c, "greeter.Greeter.Hello", &helloRequest{"Bo"}); err != nil {
					t.Fatalf("call %d: %v", i+1, err)
				}
			}
		})
	}
}

// idOf returns the member id of a request.
func idOf(body []byte) string {
	_, id, _ := strings.Cut(string(body), `"id":`)
	return strings.TrimRight(id, "}")
}

// await waits for a condition.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); time.Sleep(time.Millisecond) {
		if time.Since(start) > limit {
			t.Fatalf("no %s after %v", what, limit)
		}
	}
}

// TestServerClosesSilently has a server that closes each connection after a call, and does not announce it.
func TestServerClosesSilently(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	closed := make(chan bool, 1)
	serve := func(nc net.Conn) {
		in := bufio.NewReader(nc)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				_ = nc.Close()
				return
			}
			body, _ := io.ReadAll(r.Body)
			if r.Method == http.MethodOptions {
				_, _ = io.WriteString(nc, "HTTP/1.1 204 No Content\r\n\r\n")
				continue
			}
			var request struct{ ID json.RawMessage }
			_ = json.Unmarshal(body, &request)
			response := fmt.Sprintf(`{"jsonrpc":"2.0","result":{"message":"hi"},"id":%s}`, request.ID)
			_, _ = fmt.Fprintf(nc, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(response), response)
			_ = nc.Close()
			closed <- true
			return
		}
	}
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go serve(nc)
		}
	}()
	c := dial(t, l.Addr().String())
	for i := range 20 {
		if _, err := rpc.Call[helloReply](t.Context(), c, "greeter.Greeter.Hello", &helloRequest{Name: "Bo"}); err != nil {
			t.Fatalf("call %d: %v", i+1, err)
		}
		<-closed
	}
}

// TestClosing closes the server's side, and the client's.
func TestClosing(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	addr, l := listen(t, srv, jsonrpc.Protocol{})
	nc := rawConn(t, addr, jsonrpc.Protocol{})
	head := &call.Head{Method: "greeter.Greeter.Wait", Content: "application/json"}
	ended := make(chan error, 1)
	go func() {
		var resp call.Response
		ended <- nc.Call(t.Context(), head, []byte(`{}`), &resp)
	}()
	await(t, "call", func() bool {
		return slices.ContainsFunc(srv.Metrics().Methods, func(m rpc.MethodMetrics) bool { return m.InFlight == 1 })
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := nc.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close with a call in progress: got %v, want DeadlineExceeded", err)
	}
	if err := <-ended; call.StatusOf(err).Code != call.Unavailable {
		t.Errorf("the call: got %v, want Unavailable", err)
	}
	var resp call.Response
	if err := nc.Call(t.Context(), head, nil, &resp); call.StatusOf(err).Code != call.Unavailable || !resp.Unsent || nc.Err() == nil {
		t.Errorf("a call after Close: got %v, unsent %v, want Unavailable, unsent", err, resp.Unsent)
	}
	<-nc.Closing()
	nc = rawConn(t, addr, jsonrpc.Protocol{})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := nc.Call(t.Context(), &call.Head{Method: "m", Content: "application/json"}, nil, &resp); call.StatusOf(err).Code != call.Unavailable {
		t.Errorf("a call of a closed server: got %v, want Unavailable", err)
	}
	if _, err := (jsonrpc.Protocol{}).Dial(t.Context(), tcp.New(nil), addr); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("Dial of a closed server: got %v, want an error with the address", err)
	}
}

// TestOddServers calls servers that are no JSON-RPC servers, or misbehave.
func TestOddServers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status        int
		content, body string
		want          call.Code
	}{
		{200, "text/html", "<html>", call.Internal},
		{204, "", "", call.Internal},
		{200, "application/json", `{"jsonrpc":"2.0","result":1,"id":99}`, call.Internal},
		{200, "application/json", `{"jsonrpc":"2.0"`, call.Internal},
		{200, "application/json", `{"jsonrpc":"2.0","result":"` + strings.Repeat("x", 5000) + `","id":1}`, call.ResourceExhausted},
		{200, "application/json", `{"jsonrpc":"2.0","error":{"code":-32004,"message":"late"},"id":1}`, call.DeadlineExceeded},
		{500, "application/json", `{"jsonrpc":"2.0","error":{"code":-32004,"message":"late"},"id":1}`, call.DeadlineExceeded},
		{500, "application/json", `{"jsonrpc":"2.0","result":1,"id":1}`, call.Unknown},
		{401, "text/plain", "no", call.Unauthenticated},
		{403, "text/plain", "no", call.PermissionDenied},
		{404, "text/plain", "no", call.Unimplemented},
		{413, "text/plain", "no", call.ResourceExhausted},
		{503, "application/json", "no", call.Unavailable},
	} {
		t.Run(fmt.Sprint(row.status, row.want), func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", row.content)
				w.WriteHeader(row.status)
				io.WriteString(w, row.body)
			}))
			defer web.Close()
			nc := rawConn(t, web.Listener.Addr().String(), jsonrpc.Protocol{MaxMessage: 4096})
			var resp call.Response
			err := nc.Call(t.Context(), &call.Head{Method: "m", Content: "application/json"}, []byte("{}"), &resp)
			if call.StatusOf(err).Code != row.want || resp.Unsent {
				t.Errorf("got %v, unsent %v, want %v", err, resp.Unsent, row.want)
			}
		})
	}
}

// TestServerThatHangsUp accepts connections and closes them at once.
func TestServerThatHangsUp(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			nc.Close()
		}
	}()
	for range 50 {
		if nc, err := (jsonrpc.Protocol{}).Dial(t.Context(), tcp.New(nil), l.Addr().String()); err == nil {
			nc.Close(t.Context())
			t.Fatal("Dial accepts a connection that its server has closed")
		}
	}
}

func Example() {
	ctx := context.Background()
	srv := rpc.NewServer(nil)
	rpc.Handle(srv, "greeter.Greeter.Hello", func(_ context.Context, in *helloRequest) (*helloReply, error) {
		return &helloReply{"Hello, " + in.Name}, nil
	})
	l, err := srv.Listen(ctx, jsonrpc.Protocol{}, tcp.New(nil), "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	body := strings.NewReader(`{"jsonrpc":"2.0","method":"Greeter.Hello","params":{"name":"Bo"},"id":1}`)
	resp, err := http.Post("http://"+l.Addr().String()+"/", "application/json", body)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	fmt.Printf("%s %v\n", text, err)
	// Output: {"jsonrpc":"2.0","result":{"message":"Hello, Bo"},"id":1} <nil>
}
