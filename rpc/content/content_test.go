package content_test

import (
	"fmt"
	"reflect"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/ferry/codec"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/envelope"
)

type reading struct {
	Name  string  `json:"name" y3:"0x11"`
	Value float64 `json:"value" y3:"0x12"`
}

// values returns a value that c can carry, and an empty variable for it.
func values(c envelope.Content) (in, out any) {
	bytes := []byte("as it is")
	for _, v := range [][2]any{{&reading{"pump-1", 3.5}, new(reading)}, {&bytes, new([]byte)}, {wrapperspb.String("x"), new(wrapperspb.StringValue)}} {
		if codec.CheckType(c.Codec, reflect.TypeOf(v[0])) == nil {
			return v[0], v[1]
		}
	}
	return nil, nil
}

// TestRoundTrip passes a value through each content type, as a request and as a response.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range content.All() {
		t.Run(c.Type, func(t *testing.T) {
			t.Parallel()
			in, out := values(c)
			body, err := c.Codec.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			if c.Envelope != nil {
				body = roundTrip(t, c.Envelope, body)
			}
			if err := c.Codec.Unmarshal(body, out); err != nil || fmt.Sprint(out) != fmt.Sprint(in) {
				t.Errorf("got %v, %v, want %v", out, err, in)
			}
		})
	}
}

func roundTrip(t *testing.T, e envelope.Envelope, body []byte) []byte {
	t.Helper()
	data, err := e.AppendRequest(nil, envelope.Request{Method: "a.B.C", ID: 7, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	req, err := e.ParseRequest(data)
	if err != nil {
		t.Fatal(err)
	}
	if data, err = e.AppendResponse(nil, envelope.Response{Method: req.Method, ID: req.ID, Token: req.Token, Body: req.Body}); err != nil {
		t.Fatal(err)
	}
	resp, err := e.ParseResponse(data)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Body
}

func TestByType(t *testing.T) {
	t.Parallel()
	if n := len(content.All()); n != 13 {
		t.Errorf("%d content types, want 13", n)
	}
	for _, want := range content.All() {
		if got, ok := content.ByType(want.Type); !ok || got != want {
			t.Errorf("%s: got %+v, %v", want.Type, got, ok)
		}
	}
	if got, ok := content.ByType("text/plain"); ok {
		t.Errorf("got %+v for text/plain", got)
	}
}

func Example() {
	c, ok := content.ByType("application/jsonrpc2")
	fmt.Println(c.Envelope.Name(), c.Codec.Name(), ok)
	// Output: jsonrpc2 json true
}
