package jsonrpc_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/internal/h2conn"
	"example.com/ferry/internal/pki"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/tcp"
)

// http2Client returns a client of cleartext HTTP/2. Its requests share a connection.
func http2Client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
	tr.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: limit}
}

// postRequest is a request with a body of JSON.
func postRequest(ctx context.Context, t *testing.T, url string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return req
}

// send returns the HTTP status and the body of the response.
func send(client *http.Client, req *http.Request) (string, *http.Response, error) {
	resp, err := client.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %s", resp.StatusCode, text), resp, err
}

// TestHTTP2 makes calls over HTTP/2 on the address that serves HTTP/1.1. TestRequests and TestPlainCalls have the rest.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{MaxMessage: most})
	client, ctx := http2Client(t), t.Context()
	large := strings.Repeat("x", most/1000) // repeated 1000 times: more than the windows
	for _, row := range []struct {
		name, path string
		body       io.Reader
		want       string
	}{
		{"JSON-RPC", "/", strings.NewReader(`{"jsonrpc":"2.0","method":"Greeter.Sum","params":[1,2],"id":1}`), `200 {"jsonrpc":"2.0","result":3,"id":1}`},
		{"a plain call", "/greeter.Greeter/Hello?a=b", strings.NewReader(`{"name":"Bo"}`), `200 {"message":"Hello, Bo"}`},
		{"a body in pieces, of a length that is not said", "/greeter.Greeter/Hello", io.MultiReader(strings.NewReader(`{"name":"`), strings.NewReader(`Bo"}`)), `200 {"message":"Hello, Bo"}`},
		{"a large body", "/greeter.Greeter/Hello", strings.NewReader(`{"name":"` + strings.Repeat("y", most/2) + `"}`), `200 {"message":"Hello, ` + strings.Repeat("y", most/2) + `"}`},
		{"a large response", "/greeter.Greeter/Repeat", strings.NewReader(`{"name":"` + large + `"}`), `200 {"message":"` + strings.Repeat(large, 1000) + `"}`},
		{"a body that is too large", "/greeter.Greeter/Hello", strings.NewReader(strings.Repeat(" ", most+1)), `413 {"code":"resource_exhausted","message":"the request has more than 1048576 bytes, which is Protocol.MaxMessage"}`},
		{"the same, of a length that is not said", "/greeter.Greeter/Hello", io.MultiReader(strings.NewReader(strings.Repeat(" ", most+1))), `413 {"code":"resource_exhausted","message":"the request has more than 1048576 bytes, which is Protocol.MaxMessage"}`},
		{"an empty body", "/greeter.Greeter/Hello", http.NoBody, `400 {"code":"invalid_argument","message":"the request is not JSON: unexpected end of JSON input after 0 bytes"}`},
	} {
		got, resp, err := send(client, postRequest(ctx, t, "http://"+addr+row.path, row.body))
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if resp.ProtoMajor != 2 || got != row.want {
			t.Errorf("%s: %s\n got %.200s\nwant %.200s", row.name, resp.Proto, got, row.want)
		}
	}
	req := postRequest(ctx, t, "http://"+addr+"/greeter.Greeter/Echo", strings.NewReader(`{}`))
	req.Header.Set("X-A", "1")
	req.Header.Set("Expect", "100-continue")
	got, resp, err := send(client, req)
	if err != nil || got != `200 {"message":"x-a=1"}` || resp.Header.Get("X-Head") != "h" || resp.Header.Get("Trailer-X-Tail") != "t" || resp.Header.Get("Date") == "" {
		t.Errorf("metadata: got %q, %v, %v", got, resp, err)
	}
	head, err := http.NewRequestWithContext(ctx, http.MethodHead, "http://"+addr+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := send(client, head); err != nil || got != "405 " {
		t.Errorf("HEAD: got %q, %v", got, err)
	}
}

// TestHTTP2OverTLS: clients that offer HTTP/2 in TLS get it, and those that do not get HTTP/1.1.
func TestHTTP2OverTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	trusting, err := pki.ClientTLS(filepath.Join(dir, pki.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	l, err := newServer(t).Listen(t.Context(), jsonrpc.Protocol{}, tcp.NewTLS(&tcp.Config{ServerTLS: id.ServerTLS()}), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, version := range []int{1, 2} {
		tr := &http.Transport{TLSClientConfig: trusting.Clone(), Protocols: new(http.Protocols)}
		tr.Protocols.SetHTTP1(version == 1)
		tr.Protocols.SetHTTP2(version == 2)
		got, resp, err := send(&http.Client{Transport: tr, Timeout: limit}, postRequest(t.Context(), t, "https://"+l.Addr().String()+"/greeter.Greeter/Hello", strings.NewReader(`{"name":"Bo"}`)))
		tr.CloseIdleConnections()
		if err != nil || got != `200 {"message":"Hello, Bo"}` || resp.ProtoMajor != version {
			t.Errorf("HTTP/%d: got %s, %v", version, got, err)
		}
	}
}

// TestHTTP2Cancel: the end of a request ends the context of its handler, and leaves the other requests of the connection alone.
func TestHTTP2Cancel(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	began, ended := make(chan int, 1), make(chan error, 1)
	rpc.Handle(srv, "greeter.Greeter.Block", func(ctx context.Context, _ *helloRequest) (*helloReply, error) {
		began <- 1
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	addr, _ := listen(t, srv, jsonrpc.Protocol{})
	client := http2Client(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	if _, _, err := send(client, postRequest(ctx, t, "http://"+addr+"/greeter.Greeter/Block", strings.NewReader(`{}`))); err == nil {
		t.Error("a cancelled request has a response")
	}
	select {
	case <-ended:
	case <-time.After(limit):
		t.Fatal("the context of the handler has not ended")
	}
	if got, _, err := send(client, postRequest(t.Context(), t, "http://"+addr+"/greeter.Greeter/Hello", strings.NewReader(`{"name":"Bo"}`))); err != nil || got != `200 {"message":"Hello, Bo"}` {
		t.Errorf("the next request: got %s, %v", got, err)
	}
}

// TestHTTP2Drain: a drain lets a call end that has begun, and Close ends one at once.
func TestHTTP2Drain(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	began, proceed := make(chan int, 1), make(chan int)
	rpc.Handle(srv, "greeter.Greeter.Block", func(ctx context.Context, _ *helloRequest) (*helloReply, error) {
		began <- 1
		select {
		case <-proceed:
		case <-ctx.Done():
		}
		return &helloReply{"done"}, ctx.Err()
	})
	for _, drains := range []bool{true, false} {
		addr, l := listen(t, srv, jsonrpc.Protocol{})
		client := http2Client(t)
		got := make(chan string, 1)
		go func() {
			text, _, err := send(client, postRequest(t.Context(), t, "http://"+addr+"/greeter.Greeter/Block", strings.NewReader(`{}`)))
			got <- fmt.Sprintf("%s %v", text, err)
		}()
		<-began
		if !drains {
			_ = l.Close()
			if text := <-got; strings.HasPrefix(text, "200") {
				t.Errorf("Close: got %s", text)
			}
			continue
		}
		drained := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			drained <- l.Drain(ctx)
		}()
		proceed <- 1
		if text := <-got; text != `200 {"message":"done"} <nil>` {
			t.Errorf("Drain: got %s", text)
		}
		if err := <-drained; err != nil {
			t.Errorf("Drain: %v", err)
		}
	}
}

// TestHTTP2Holds: bodies of one connection are bounded, while they arrive. Small requests, and those of other connections, are served meanwhile,
// and all of them later.
func TestHTTP2Holds(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{MaxServerHeld: 12 << 20})
	client := http2Client(t)
	const size = 1 << 20
	statuses := make(chan string, 16)
	var bodies []*io.PipeWriter
	for range cap(statuses) {
		r, w := io.Pipe()
		bodies = append(bodies, w)
		req := postRequest(t.Context(), t, "http://"+addr+"/", r)
		go func() { // all but the last byte
			_, _ = w.Write(bytes.Repeat([]byte(" "), size-1))
		}()
		go func() {
			text, _, err := send(client, req)
			statuses <- fmt.Sprintf("%.3s %v", text, err)
		}()
	}
	for range cap(statuses) - 6 { // the connection gets half of the memory
		select {
		case got := <-statuses:
			if got != "503 <nil>" {
				t.Errorf("got %q, want 503", got)
			}
		case <-time.After(limit):
			t.Fatal("more than 6 MiB of bodies wait")
		}
	}
	call := func(client *http.Client, body string) string {
		text, _, err := send(client, postRequest(t.Context(), t, "http://"+addr+"/", strings.NewReader(body)))
		return fmt.Sprintf("%s %v", text, err)
	}
	if got := call(client, `{"jsonrpc":"2.0","method":"Greeter.Sum","params":[1,2],"id":1}`); !strings.Contains(got, `"result":3`) {
		t.Errorf("a small request: got %s", got)
	}
	if got := call(http2Client(t), strings.Repeat(" ", size)); !strings.HasPrefix(got, "200 ") {
		t.Errorf("a large request of another connection: got %s", got)
	}
	for _, w := range bodies {
		_ = w.CloseWithError(io.ErrUnexpectedEOF)
	}
	await(t, "room for a large request", func() bool { return strings.HasPrefix(call(client, strings.Repeat(" ", size)), "200 ") })
}

// TestHTTP2SlowBody has a client that does not send the rest of its body.
func TestHTTP2SlowBody(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{BodyTimeout: 50 * time.Millisecond})
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = w.Write([]byte("{")) }()
	got, _, err := send(http2Client(t), postRequest(t.Context(), t, "http://"+addr+"/greeter.Greeter/Hello", r))
	if err != nil || !strings.HasPrefix(got, `400 {"code":"invalid_argument","message":"the body cannot be read: the rest has not arrived in time`) {
		t.Errorf("got %s, %v, want 400", got, err)
	}
}

// refusals is an http2.Handler of a client that counts the streams that the server refuses.
type refusals chan bool

func (refusals) Headers(*http2.Stream, *http2.Head, bool) {}
func (refusals) Data(*http2.Stream, []byte, bool)         {}
func (r refusals) Reset(_ *http2.Stream, why http2.StreamError) {
	r <- why.Refused
}
func (refusals) Writable(*http2.Stream)    {}
func (refusals) Sent(*http2.Stream)        {}
func (refusals) GoAway(uint32, http2.Code) {}

// TestHTTP2Resets: a request that its client has reset counts until its handler returns, so resets start no more handlers than the limit of
// streams. CVE-2023-44487.
func TestHTTP2Resets(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	began, proceed := make(chan bool), make(chan bool)
	rpc.Handle(srv, "greeter.Greeter.Block", func(context.Context, *helloRequest) (*helloReply, error) {
		began <- true
		<-proceed
		return &helloReply{}, nil
	})
	addr, _ := listen(t, srv, jsonrpc.Protocol{})
	defer close(proceed)
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	refused := make(refusals, 1)
	c := h2conn.Client(nc, nil, refused)
	served := make(chan error, 1)
	go func() { served <- c.Serve() }()
	defer func() {
		c.Close(nil)
		<-served
	}()
	for i := range http2.DefaultMaxStreams + 1 {
		c.Lock()
		s := c.HTTP2().Open()
		e := s.BeginHeaders()
		e.Method([]byte("POST"))
		e.Scheme([]byte("http"))
		e.Path([]byte("/greeter.Greeter/Block"))
		e.Authority([]byte("a"))
		e.FieldString("content-type", "application/json")
		e.End(false)
		s.Write([]byte("{}"), true)
		c.Unlock()
		starts := false
		select {
		case starts = <-began:
		case <-refused:
		case <-time.After(limit):
			t.Fatal("a request neither begins nor is refused")
		}
		if starts != (i < http2.DefaultMaxStreams) {
			t.Fatalf("request %d: begun %v", i+1, starts)
		}
		c.Lock()
		s.Reset(http2.Cancel)
		s.Release()
		c.Unlock()
	}
}

// reader is an http2.Handler of a client that takes the body of a response, or leaves it where it is.
type reader struct {
	takes bool
	ended chan string
}

func (*reader) Headers(*http2.Stream, *http2.Head, bool) {}
func (r *reader) Data(s *http2.Stream, p []byte, end bool) {
	if r.takes {
		s.Consumed(len(p))
	}
	if end {
		s.Release()
		r.ended <- "whole"
	}
}

func (r *reader) Reset(s *http2.Stream, _ http2.StreamError) {
	s.Release()
	r.ended <- "reset"
}
func (*reader) Writable(*http2.Stream)    {}
func (*reader) Sent(*http2.Stream)        {}
func (*reader) GoAway(uint32, http2.Code) {}

// TestHTTP2SlowReader has clients whose window is smaller than the response. A request counts until its response has left, at listeners of both protocols,
// and at most for BodyTimeout.
func TestHTTP2SlowReader(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		protocol func(jsonrpc.Protocol) call.Protocol
		reader   reader
		timeout  time.Duration
		want     string
	}{
		{"reads nothing", func(p jsonrpc.Protocol) call.Protocol { return p }, reader{}, 50 * time.Millisecond, "reset"},
		{"reads", func(p jsonrpc.Protocol) call.Protocol { return p }, reader{takes: true}, time.Hour, "whole"},
		{"reads, beside gRPC", func(p jsonrpc.Protocol) call.Protocol {
			return grpc.Protocol{Config: &grpc.Config{MaxStreams: 1, Others: p.OnHTTP2(newServer(t))}}
		}, reader{takes: true}, time.Hour, "whole"},
	} {
		synctest.Test(t, func(t *testing.T) {
			network := memory.New(nil)
			l, err := newServer(t).Listen(t.Context(), row.protocol(jsonrpc.Protocol{BodyTimeout: row.timeout}), network, "server")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			nc, err := network.Dial(t.Context(), "server")
			if err != nil {
				t.Fatal(err)
			}
			row.reader.ended = make(chan string, 1)
			c := h2conn.Client(nc, &h2conn.Config{HTTP2: http2.Config{StreamWindow: 1}}, &row.reader)
			served := make(chan error, 1)
			go func() { served <- c.Serve() }()
			request := func() string {
				c.Lock()
				s := c.HTTP2().Open()
				if s == nil { // the server has no place
					c.Unlock()
					return "refused"
				}
				e := s.BeginHeaders()
				e.Method([]byte("POST"))
				e.Scheme([]byte("http"))
				e.Path([]byte("/greeter.Greeter/Hello"))
				e.Authority([]byte("a"))
				e.FieldString("content-type", "application/json")
				e.End(false)
				s.Write([]byte(`{"name":"Bo"}`), true)
				c.Unlock()
				select {
				case got := <-row.reader.ended:
					return got
				case <-time.After(limit):
					return "without an end"
				}
			}
			if got := request(); got != row.want {
				t.Fatalf("%s: the response is %s, want %s", row.name, got, row.want)
			}
			await(t, "the place of the request", func() bool { return request() == row.want })
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			if err := l.Drain(ctx); err != nil {
				t.Errorf("%s: the request is still in progress: %v", row.name, err)
			}
			cancel()
			c.Close(nil)
			<-served
		})
	}
}
