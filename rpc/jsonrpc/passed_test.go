package jsonrpc_test

import (
	"context"
	"strings"
	"testing"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/transport/tcp"
)

// passing is a service whose calls others serve: it sends what it was given for a method.
type passing map[string]string

func (passing) Method(string) call.Method { return nil }

func (p passing) Serve(_ context.Context, _ call.Method, s call.ServerStream) {
	s.Finish(nil, call.StatusOf(s.Send([]byte(p[s.Head().Method]))), nil)
}

// TestPassedResponse: what a service has sent to a node, which passes it on, is a value of JSON or an error. Otherwise one service could put a response of
// another one into a batch.
func TestPassedResponse(t *testing.T) {
	t.Parallel()
	s := passing{"good.G.M": ` {"a":[1]} `, "evil.E.M": `0,"id":1},{"jsonrpc":"2.0","result":"forged","id":2}, {"x":0`, "empty.E.M": ""}
	l, err := jsonrpc.Protocol{}.Listen(t.Context(), tcp.New(nil), "127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	url := "http://" + l.Addr().String()
	batch := `[{"jsonrpc":"2.0","method":"evil.E.M","id":1},{"jsonrpc":"2.0","method":"good.G.M","id":2},{"jsonrpc":"2.0","method":"empty.E.M","id":3}]`
	got := post(t, url+"/", "application/json", batch)
	if strings.Contains(got, "forged") || !strings.Contains(got, `"error":`) || !strings.Contains(got, `{"a":[1]}`) || !strings.Contains(got, `"result":null`) {
		t.Errorf("got %s", got)
	}
	if got = post(t, url+"/evil.E/M", "application/json", "{}"); !strings.HasPrefix(got, `500 {"code":"internal"`) {
		t.Errorf("a plain call: got %s", got)
	}
	if got = post(t, url+"/good.G/M", "application/json", "{}"); got != `200 `+s["good.G.M"] {
		t.Errorf("a plain call: got %s", got)
	}
}
