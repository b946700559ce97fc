package jsonrpc_test

import (
	"bufio"
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

	"example.com/ferry/internal/compress"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/jsonrpc"
)

// postBoth is post over both versions of HTTP, whose responses must be the same.
func postBoth(t *testing.T, url, contentType, body string, fields ...string) string {
	t.Helper()
	got := post(t, url, contentType, body, fields...)
	req := postRequest(t.Context(), t, url, strings.NewReader(body))
	req.Header.Set("Content-Type", contentType)
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	if two, _, err := send(http2Client(t), req); err != nil || two != got {
		t.Errorf("HTTP/2: got %s, %v, and over HTTP/1.1 %s", two, err, got)
	}
	return got
}

// post sends a body and returns the HTTP status and the body of the response.
func post(t *testing.T, url, contentType, body string, fields ...string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	return do(t, req)
}

func do(t *testing.T, req *http.Request) string {
	t.Helper()
	client := http.Client{Timeout: limit, Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, text)
}

// TestRequests has what clients send, among it the examples of the specification of JSON-RPC 2.0, section 7.
func TestRequests(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{MaxMessage: 4096, MaxBatch: 4})
	const v1, v2, both = "application/json-rpc", "application/jsonrpc2", "application/json"
	for _, row := range []struct{ name, content, body, want string }{
		{"by name", both, `{"jsonrpc":"2.0","method":"greeter.Greeter.Hello","params":{"name":"Bo"},"id":1}`, `200 {"jsonrpc":"2.0","result":{"message":"Hello, Bo"},"id":1}`},
		{"a short name", both, `{"jsonrpc":"2.0","method":"Greeter.Hello","params":{"name":"Bo"},"id":1}`, `200 {"jsonrpc":"2.0","result":{"message":"Hello, Bo"},"id":1}`},
		{"positional", both + "; charset=UTF-8", `{"jsonrpc":"2.0","method":"Greeter.Hello","params":[{"name":"Bo"}],"id":"a"}`, `200 {"jsonrpc":"2.0","result":{"message":"Hello, Bo"},"id":"a"}`},
		{"several positional", both, `{"jsonrpc":"2.0","method":"Greeter.Sum","params":[42,23],"id":1}`, `200 {"jsonrpc":"2.0","result":65,"id":1}`},
		{"version 1", both, `{"method":"Greeter.Hello","params":[{"name":"Bo"}],"id":1}`, `200 {"id":1,"result":{"message":"Hello, Bo"},"error":null}`},
		{"version 1, by its type", v1, `{"method":"Greeter.Hello","params":[{"name":"Bo"}],"id":1}`, `200 {"id":1,"result":{"message":"Hello, Bo"},"error":null}`},
		{"version 2, by its type", v2, `{"jsonrpc":"2.0","method":"Greeter.Hello","params":[{"name":"Bo"}],"id":null}`, `200 {"jsonrpc":"2.0","result":{"message":"Hello, Bo"},"id":null}`},
		{"version 1 with the type of 2", v2, `{"method":"Greeter.Hello","params":[{"name":"Bo"}],"id":1}`, `200 {"jsonrpc":"2.0","error":{"code":-32600,"message":"jsonrpc2: member \"jsonrpc\":\"2.0\" is missing at offset 0"},"id":null}`},
		{"version 1, an error", v1, `{"method":"Greeter.Fail","params":[],"id":1}`, `200 {"id":1,"result":null,"error":"NOT_FOUND: no user 5"}`},
		{"version 1, no request", v1, `[]`, `200 {"id":null,"result":null,"error":"INVALID_ARGUMENT: json-rpc: '[' where { is expected at offset 0"}`},
		{"an error with details", both, `{"jsonrpc":"2.0","method":"Greeter.Fail","id":1}`, `200 {"jsonrpc":"2.0","error":{"code":-32005,"message":"no user 5","data":{"details":[{"type":"a.B","value":"AQI="}]}},"id":1}`},
		{"method not found", both, `{"jsonrpc":"2.0","method":"foobar","id":"1"}`, `200 {"jsonrpc":"2.0","error":{"code":-32601,"message":"the server has no method \"foobar\""},"id":"1"}`},
		{"an ambiguous method", both, `{"jsonrpc":"2.0","method":"Clock.Now","id":"1"}`, `200 {"jsonrpc":"2.0","error":{"code":-32601,"message":"method Clock.Now may be a.Clock.Now or b.Clock.Now: use the full name"},"id":"1"}`},
		{"a stream", both, `{"jsonrpc":"2.0","method":"Greeter.Stream","id":"1"}`, `200 {"jsonrpc":"2.0","error":{"code":-32601,"message":"method greeter.Greeter.Stream has streams: JSON-RPC carries unary calls only"},"id":"1"}`},
		{"invalid params", both, `{"jsonrpc":"2.0","method":"Greeter.Hello","params":{"name":""},"id":1}`, `200 {"jsonrpc":"2.0","error":{"code":-32602,"message":"name is empty"},"id":1}`},
		{"invalid request", both, `{"jsonrpc":"2.0","method":1,"params":"bar"}`, `200 {"jsonrpc":"2.0","error":{"code":-32600,"message":"jsonrpc2: member method must be a string, not \"1\" at offset 26"},"id":null}`},
		{"parse error", both, `{"jsonrpc":"2.0","method":"foobar, "params":"bar","baz]`, `200 {"jsonrpc":"2.0","error":{"code":-32700,"message":"the request is not JSON: invalid character 'p' after object key:value pair after 37 bytes"},"id":null}`},
		{"an empty batch", both, `[]`, `200 {"jsonrpc":"2.0","error":{"code":-32600,"message":"jsonrpc2: the batch is empty at offset 2"},"id":null}`},
		{"a batch that is no JSON", both, `[{"jsonrpc":"2.0","method":"sum","params":[1,2,4],"id":"1"},{"jsonrpc":"2.0","method"]`, `200 {"jsonrpc":"2.0","error":{"code":-32700,"message":"the request is not JSON: invalid character ']' after object key after 86 bytes"},"id":null}`},
		{"a batch with an item that is no JSON", both, `[{"jsonrpc":"2.0","method":"sum","params":[1 2],"id":"1"}]`, `200 {"jsonrpc":"2.0","error":{"code":-32700,"message":"the request is not JSON: invalid character '2' after array element after 46 bytes"},"id":null}`},
		{"an invalid batch", both, `[1,2]`, `200 [{"jsonrpc":"2.0","error":{"code":-32600,"message":"jsonrpc2: '1' where { is expected at offset 0"},"id":null},{"jsonrpc":"2.0","error":{"code":-32600,"message":"jsonrpc2: '2' where { is expected at offset 0"},"id":null}]`},
		{
			"a batch", both, `[{"jsonrpc":"2.0","method":"Greeter.Sum","params":[1,2,4],"id":"1"},{"jsonrpc":"2.0","method":"Greeter.Hello","params":[7]},{"foo":"boo"},{"jsonrpc":"2.0","method":"foo.get","params":{"name":"myself"},"id":"5"}]`,
			`200 [{"jsonrpc":"2.0","result":7,"id":"1"},{"jsonrpc":"2.0","error":{"code":-32600,"message":"json-rpc: member method is missing at offset 0"},"id":null},{"jsonrpc":"2.0","error":{"code":-32601,"message":"the server has no method \"foo.get\""},"id":"5"}]`,
		},
		{"a batch of notifications", both, `[{"jsonrpc":"2.0","method":"Greeter.Sum","params":[1,2,4]},{"jsonrpc":"2.0","method":"foo"}]`, `204 `},
		{"a batch that is too long", both, `[1,1,1,1,1]`, `200 {"jsonrpc":"2.0","error":{"code":-32600,"message":"jsonrpc2: the batch has more than 4 calls at offset 9"},"id":null}`},
		{"a notification", both, `{"jsonrpc":"2.0","method":"Greeter.Hello","params":{"name":"Bo"}}`, `204 `},
		{"a notification of no method", both, `{"jsonrpc":"2.0","method":"foo"}`, `204 `},
		{"a notification of version 1", v1, `{"method":"Greeter.Hello","params":[{"name":"Bo"}],"id":null}`, `204 `},
		{"an empty body", both, ``, `200 {"jsonrpc":"2.0","error":{"code":-32700,"message":"the request is not JSON: unexpected end of JSON input after 0 bytes"},"id":null}`},
		{"another content type", "text/plain", `{}`, `415 {"jsonrpc":"2.0","error":{"code":-32601,"message":"content type \"text/plain\": want application/json, application/json-rpc or application/jsonrpc2"},"id":null}`},
		{"another charset", "application/json; charset=latin1", `{}`, `415 {"jsonrpc":"2.0","error":{"code":-32601,"message":"content type \"application/json; charset=latin1\": want application/json, application/json-rpc or application/jsonrpc2"},"id":null}`},
		{"too large", both, strings.Repeat(" ", 5000), `413 {"jsonrpc":"2.0","error":{"code":-32008,"message":"the request has more than 4096 bytes, which is Protocol.MaxMessage"},"id":null}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := postBoth(t, "http://"+addr+"/", row.content, row.body); got != row.want {
				t.Errorf("%s\n got %s\nwant %s", row.body, got, row.want)
			}
		})
	}
}

// TestTextThatIsNoJSON has text in every place that is no JSON. None of it is handled, and each gets a parse error with the id null.
// JSON-RPC 2.0, section 5.1.
func TestTextThatIsNoJSON(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	var calls atomic.Int64
	rpc.Handle(srv, "greeter.Greeter.Count", func(context.Context, *helloRequest) (*helloReply, error) {
		calls.Add(1)
		return &helloReply{}, nil
	})
	addr, _ := listen(t, srv, jsonrpc.Protocol{})
	for _, row := range []struct{ name, body string }{
		{"parameters of a notification", `{"jsonrpc":"2.0","method":"Greeter.Count","params":{"name":}}`},
		{"parameters", `{"jsonrpc":"2.0","method":"Greeter.Count","params":{"name" "Bo"},"id":1}`},
		{"parameters of an unknown method", `{"jsonrpc":"2.0","method":"nope","params":{"name":},"id":1}`},
		{"a comma behind the last parameter", `{"jsonrpc":"2.0","method":"Greeter.Count","params":[{"name":"Bo"},],"id":1}`},
		{"a comma behind the last member", `{"jsonrpc":"2.0","method":"Greeter.Count","params":[{"name":"Bo"}],"id":1,}`},
		{"a control character in the method", "{\"jsonrpc\":\"2.0\",\"method\":\"Greeter.\x01Count\",\"id\":1}"},
		{"an id", `{"jsonrpc":"2.0","method":"Greeter.Count","id":01}`},
		{"the member error", `{"jsonrpc":"2.0","method":"Greeter.Count","params":[{"name":"Bo"}],"id":1,"error":tru}`},
		{"the member result", `{"jsonrpc":"2.0","method":"Greeter.Count","params":[{"name":"Bo"}],"id":1,"result":nul}`},
		{"text behind the request", `{"jsonrpc":"2.0","method":"Greeter.Count","params":[{"name":"Bo"}],"id":1}}`},
		{"a call of a batch", `[{"jsonrpc":"2.0","method":"Greeter.Count","params":[{"name":"Bo"}],"id":1},{"jsonrpc":"2.0","method":"Greeter.Count","params":[tru]}]`},
	} {
		got := post(t, "http://"+addr+"/", "application/json", row.body)
		if !strings.HasPrefix(got, `200 {"jsonrpc":"2.0","error":{"code":-32700,`) || !strings.HasSuffix(got, `"id":null}`) {
			t.Errorf("%s: got %s, want a parse error", row.name, got)
		}
	}
	got := post(t, "http://"+addr+"/", "application/json-rpc", `{"method":"Greeter.Count","params":[tru],"id":null}`)
	if !strings.Contains(got, "not JSON") {
		t.Errorf("a notification of JSON-RPC 1.0: got %s, want an error", got)
	}
	if n := calls.Load(); n > 0 {
		t.Errorf("%d calls were handled", n)
	}
	got = post(t, "http://"+addr+"/", "application/json", `{"jsonrpc":"2.0","method":"Greeter.Count","params":null,"id":1}`)
	if !strings.HasPrefix(got, `200 {"jsonrpc":"2.0","error":{"code":-32600,`) {
		t.Errorf("params null: got %s, want an invalid request", got)
	}
}

// TestAbsoluteTarget: a request may name the whole URL, as those to a proxy do. RFC 9112, section 3.2.2.
func TestAbsoluteTarget(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{})
	for _, target := range []string{"http://a", "http://a/", "http://a/?b", "/?b"} {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = nc.SetDeadline(time.Now().Add(limit))
		const body = `{"jsonrpc":"2.0","method":"Greeter.Sum","params":[1,2],"id":1}`
		fmt.Fprintf(nc, "POST %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", target, len(body), body)
		if text, err := io.ReadAll(nc); err != nil || !strings.HasSuffix(string(text), `{"jsonrpc":"2.0","result":3,"id":1}`) {
			t.Errorf("%s: got %q, %v", target, text, err)
		}
		nc.Close()
	}
}

func TestOtherRequests(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{})
	const hello = `{"jsonrpc":"2.0","method":"Greeter.Hello","params":{"name":"Bo"},"id":1}`
	if got := postBoth(t, "http://"+addr+"/rpc", "application/json", hello); got != "404 calls are POST / with JSON-RPC, or POST /Service/Method with the value alone\n" {
		t.Errorf("another path: got %s", got)
	}
	for _, row := range []struct{ name, field, value, want string }{
		{"an encoding", "Content-Encoding", "br", "415 "},
		{"a body that is no gzip", "Content-Encoding", "gzip", "400 "},
		{"a timeout", "Ferry-Timeout-Ms", "soon", "400 "},
		{"a timeout below 1 ms", "Ferry-Timeout-Ms", "-1", "400 "},
		{"binary metadata that is no base64", "X-Key-Bin", "*", "400 "},
		{"a long timeout", "Ferry-Timeout-Ms", "9223372036854775807", "200 "},
	} {
		if got := postBoth(t, "http://"+addr+"/", "application/json", hello, row.field, row.value); !strings.HasPrefix(got, row.want) {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodOptions} {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+"/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if got := do(t, req); got != "405 calls are POST, not "+method+"\n" {
			t.Errorf("%s: got %s", method, got)
		}
	}
}

// TestExpansion sends a small body that expands to a large one.
func TestExpansion(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{MaxMessage: 4096})
	small, err := compress.Append(nil, make([]byte, 1<<20), compress.Gzip)
	if err != nil {
		t.Fatal(err)
	}
	if got := post(t, "http://"+addr+"/", "application/json", string(small), "Content-Encoding", "gzip"); !strings.HasPrefix(got, "413 ") {
		t.Errorf("got %s, want 413", got)
	}
}

// TestServerHolds: bodies of many connections at once are bounded, before a handler begins. Small requests are served meanwhile, and all of them
// later.
func TestServerHolds(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{MaxServerHeld: 2 << 20})
	const size = 1 << 20
	statuses := make(chan string, 8)
	var conns []net.Conn
	for range cap(statuses) {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		conns = append(conns, nc)
		_ = nc.SetDeadline(time.Now().Add(limit))
		go func() { // all but the last byte
			fmt.Fprintf(nc, "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat(" ", size-1))
		}()
		go func() {
			line, _ := bufio.NewReader(nc).ReadString('\n')
			statuses <- strings.TrimSpace(line)
		}()
	}
	for range 5 {
		if got := <-statuses; got != "HTTP/1.1 503 Service Unavailable" {
			t.Errorf("got %q, want 503", got)
		}
	}
	if got := post(t, "http://"+addr+"/", "application/json", `{"jsonrpc":"2.0","method":"Greeter.Sum","params":[1,2],"id":1}`); !strings.Contains(got, `"result":3`) {
		t.Errorf("a small request: got %s", got)
	}
	for _, nc := range conns {
		nc.Close()
	}
	await(t, "room for a large request", func() bool {
		return strings.HasPrefix(post(t, "http://"+addr+"/", "application/json", strings.Repeat(" ", size)), "200 ")
	})
}

// TestOverload: a server with too many calls in progress refuses a large request before all of it has arrived.
func TestOverload(t *testing.T) {
	t.Parallel()
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: contents(t), MaxCalls: 1})
	began := make(chan bool, 1)
	rpc.Handle(srv, "greeter.Greeter.Wait", func(ctx context.Context, in *helloRequest) (*helloReply, error) {
		began <- true
		<-ctx.Done()
		return nil, ctx.Err()
	})
	addr, _ := listen(t, srv, jsonrpc.Protocol{})
	send := func(length int, body string) net.Conn {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		_ = nc.SetDeadline(time.Now().Add(limit))
		fmt.Fprintf(nc, "POST /greeter.Greeter/Wait HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", length, body)
		return nc
	}
	send(2, "{}")
	<-began
	if line, err := bufio.NewReader(send(1_000_000, strings.Repeat(" ", 70_000))).ReadString('\n'); line != "HTTP/1.1 429 Too Many Requests\r\n" {
		t.Errorf("got %q, %v, want 429", line, err)
	}
}

// TestServerHoldsResponses: a response counts until its client has taken it.
func TestServerHoldsResponses(t *testing.T) {
	t.Parallel()
	p := jsonrpc.Protocol{MaxServerHeld: 1 << 20}
	addr, _ := listen(t, newServer(t), p)
	web := httptest.NewServer(p.Handler(newServer(t)))
	defer web.Close()
	for _, addr := range []string{addr, web.Listener.Addr().String()} {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		_ = nc.SetDeadline(time.Now().Add(limit))
		_ = nc.(*net.TCPConn).SetReadBuffer(64 << 10)
		const requests, size = 6, 3000 // so many responses of size*1000 bytes are more than the system buffers
		name := strings.Repeat("x", size)
		body := fmt.Sprintf(`{"jsonrpc":"2.0","method":"Greeter.Repeat","params":{"name":%q},"id":1}`, name)
		request := fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if _, err := io.WriteString(nc, strings.Repeat(request, requests)); err != nil {
			t.Fatal(err)
		}
		large := func(status string) func() bool {
			return func() bool {
				return strings.HasPrefix(post(t, "http://"+addr+"/", "application/json", strings.Repeat(" ", 200<<10)), status)
			}
		}
		await(t, "refusal while responses wait", large("503 "))
		in := bufio.NewReader(nc)
		want := `{"jsonrpc":"2.0","result":{"message":"` + strings.Repeat(name, 1000) + `"},"id":1}`
		for i := range requests {
			r, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r.Body)
			r.Body.Close()
			if err != nil || string(got) != want {
				t.Fatalf("response %d: got %d bytes, %v, want %d", i+1, len(got), err, len(want))
			}
		}
		await(t, "room for a large request", large("200 "))
	}
}

// TestBatchSize has responses that are too large together.
func TestBatchSize(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{MaxMessage: 2500})
	item := `{"jsonrpc":"2.0","method":"Greeter.Repeat","params":{"name":"x"},"id":1}`
	got := post(t, "http://"+addr+"/", "application/json", "["+strings.Repeat(item+",", 2)+item+"]")
	if !strings.HasPrefix(got, "200 [") || strings.Count(got, "xxx\"") != 2 || strings.Count(got, `"code":-32008`) != 1 {
		t.Errorf("got %s, want two results and one error", got)
	}
}

// TestHandler serves calls from another http.Server.
func TestHandler(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	mux := http.NewServeMux()
	mux.Handle("/rpc", jsonrpc.Protocol{}.Handler(srv))
	web := httptest.NewServer(mux)
	defer web.Close()
	if got := post(t, web.URL+"/rpc", "application/json", `{"jsonrpc":"2.0","method":"Greeter.Sum","params":[1,2],"id":1}`); got != `200 {"jsonrpc":"2.0","result":3,"id":1}` {
		t.Errorf("got %s", got)
	}
}

// TestSlowBody has a client that does not send the rest of its body.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{BodyTimeout: 50 * time.Millisecond})
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(nc, "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(nc)
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 400 ") {
		t.Errorf("got %q, %v, want 400 and the end of the connection", text, err)
	}
}

// TestMaxConns opens more connections than there are places.
func TestMaxConns(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{MaxConns: 1})
	first, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	request := "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
	status := make([]byte, len("HTTP/1.1 415"))
	exchange := func(nc net.Conn) error {
		nc.SetDeadline(time.Now().Add(limit))
		io.WriteString(nc, request)
		_, err := io.ReadFull(nc, status)
		return err
	}
	if err := exchange(first); err != nil || string(status) != "HTTP/1.1 415" {
		t.Fatalf("got %s, %v", status, err)
	}
	second, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := exchange(second); err == nil {
		t.Error("a second connection is served, want it closed")
	}
	first.Close()
	for start := time.Now(); ; { // the server sees the end of the first one
		third, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		err = exchange(third)
		third.Close()
		if err == nil {
			return
		}
		if time.Since(start) > limit {
			t.Fatal("the place of a closed connection is not free")
		}
	}
}

// noMethods is a call.Service that does not list its methods.
type noMethods struct{ call.Service }

func TestServiceWithoutList(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(jsonrpc.Protocol{}.Handler(noMethods{newServer(t)}))
	defer web.Close()
	if got := post(t, web.URL, "application/json", `{"jsonrpc":"2.0","method":"Greeter.Sum","params":[1,2],"id":1}`); !strings.Contains(got, `"code":-32601`) {
		t.Errorf("got %s, want no such method", got)
	}
	if got := post(t, web.URL, "application/json", `{"jsonrpc":"2.0","method":"greeter.Greeter.Sum","params":[1,2],"id":1}`); !strings.Contains(got, `"result":3`) {
		t.Errorf("got %s, want 3", got)
	}
}

var _ call.Service = (*rpc.Server)(nil)
