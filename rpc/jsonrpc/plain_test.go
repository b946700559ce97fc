package jsonrpc_test

import (
	"net/http"
	"strings"
	"testing"

	"example.com/ferry/internal/compress"
	"example.com/ferry/rpc/jsonrpc"
)

// TestPlainCalls makes calls as curl and clients of Connect do: POST /Service/Method with the value alone.
func TestPlainCalls(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, newServer(t), jsonrpc.Protocol{MaxMessage: 4096})
	small, err := compress.Append(nil, []byte(`{"name":"Bo"}`), "gzip")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, path, content, body string
		fields                    []string
		want                      string
	}{
		{"a call", "/greeter.Greeter/Hello", "application/json", `{"name":"Bo"}`, nil, `200 {"message":"Hello, Bo"}`},
		{"a content type with parameters", "/greeter.Greeter/Hello", "application/json; charset=utf-8", `{"name":"Bo"}`, nil, `200 {"message":"Hello, Bo"}`},
		{"a list", "/greeter.Greeter/Sum", "application/json", `[1,2]`, nil, `200 3`},
		{"a query", "/greeter.Greeter/Hello?a=b", "application/json", `{"name":"Bo"}`, nil, `200 {"message":"Hello, Bo"}`},
		{"a timeout", "/greeter.Greeter/Wait", "application/json", `{}`, []string{"Connect-Timeout-Ms", "5"}, `504 {"code":"deadline_exceeded"`},
		{"an odd timeout", "/greeter.Greeter/Wait", "application/json", `{}`, []string{"Connect-Timeout-Ms", "x"}, `400 {"code":"invalid_argument"`},
		{"an error with details", "/greeter.Greeter/Fail", "application/json", `{}`, nil, `404 {"code":"not_found","message":"no user 5","details":[{"type":"a.B","value":"AQI"}]}`},
		{"no JSON", "/greeter.Greeter/Hello", "application/json", `{"name":}`, nil, `400 {"code":"invalid_argument","message":"the request is not JSON`},
		{"another type", "/greeter.Greeter/Hello", "application/json", `{"name":5}`, nil, `400 {"code":"invalid_argument"`},
		{"an unknown method", "/greeter.Greeter/Nothing", "application/json", `{}`, nil, `404 {"code":"unimplemented"`},
		{"a stream", "/greeter.Greeter/Stream", "application/json", `{}`, nil, `501 {"code":"unimplemented"`},
		{"another content type", "/greeter.Greeter/Hello", "text/plain", `{}`, nil, `415 content type "text/plain": want application/json or application/proto`},
		{"JSON-RPC", "/greeter.Greeter/Hello", "application/json-rpc", `{}`, nil, `415 `},
		{"too large", "/greeter.Greeter/Hello", "application/json", strings.Repeat(" ", 5000), nil, `413 {"code":"resource_exhausted"`},
		{"a path of three parts", "/greeter/Greeter/Hello", "application/json", `{}`, nil, `404 calls are`},
	} {
		if got := postBoth(t, "http://"+addr+row.path, row.content, row.body, row.fields...); !strings.HasPrefix(got, row.want) {
			t.Errorf("%s:\n got %s\nwant %s", row.name, got, row.want)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/greeter.Greeter/Echo", strings.NewReader(`{"name":"Bo"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-A", "1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.Header.Get("X-Head") != "h" || resp.Header.Get("Trailer-X-Tail") != "t" || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got the header %v", resp.Header)
	}
	if got := post(t, "http://"+addr+"/greeter.Greeter/Hello", "application/json", string(small), "Content-Encoding", "gzip"); strings.HasPrefix(got, "200 {") || !strings.HasPrefix(got, "200 ") {
		t.Errorf("a compressed call: got %q, want a compressed response", got)
	}
}
