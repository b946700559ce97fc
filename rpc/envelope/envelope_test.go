package envelope_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"example.com/ferry/codec/msgpack"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// keeps says which fields an envelope has a place for.
type keeps struct{ method, id, status, notification bool }

func keptBy(e envelope.Envelope) keeps {
	switch e.(type) {
	case envelope.GRPC:
		return keeps{}
	case envelope.JSONRPC, envelope.JSONRPC2:
		return keeps{true, true, true, true}
	}
	return keeps{true, true, true, e.Name() == "msgpackrpc"}
}

// bodiesFor returns values that e can carry.
func bodiesFor(e envelope.Envelope) [][]byte {
	switch e.Name() {
	case "json-rpc", "jsonrpc2":
		return [][]byte{[]byte(`{"name":"Bo"}`), []byte(`"a"`), []byte(`[1,2]`), []byte(`[]`), []byte(`[[1]]`), []byte(`null`), []byte(`-1.5e3`)}
	case "msgpackrpc":
		return [][]byte{{0x81, 0xa4, 'n', 'a', 'm', 'e', 0xa2, 'B', 'o'}, {0x05}, {0xc0}, {0x92, 1, 2}}
	case "bsonrpc":
		return [][]byte{{5, 0, 0, 0, 0}, {12, 0, 0, 0, 0x10, 'a', 0, 1, 0, 0, 0, 0}}
	}
	return [][]byte{[]byte("\x0a\x02Bo"), {}, bytes.Repeat([]byte{0xff}, 70_000)}
}

var ids = []uint64{0, 1, 127, 128, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64}

func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, e := range envelopes {
		kept := keptBy(e)
		for _, method := range []string{"greeter.Greeter.Hello", "", `é"\` + "\n"} {
			for i, body := range bodiesFor(e) {
				for _, id := range ids {
					want := envelope.Request{Method: method, ID: id, Body: body, Notification: kept.notification && i == 1}
					data, err := e.AppendRequest([]byte("dst"), want)
					if err != nil || !bytes.HasPrefix(data, []byte("dst")) {
						t.Fatalf("%s: %q, %v", e.Name(), data, err)
					}
					got, err := e.ParseRequest(data[3:])
					if !kept.method {
						want.Method = ""
					}
					if !kept.id || want.Notification {
						want.ID = 0
					}
					if got.Token = nil; err != nil || !bytes.Equal(got.Body, want.Body) {
						t.Fatalf("%s: %q: body %q, %v, want %q", e.Name(), data, got.Body, err, want.Body)
					}
					got.Body, want.Body = nil, nil
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("%s: %q: got %+v, want %+v", e.Name(), data, got, want)
					}
				}
			}
		}
	}
}

func TestResponseRoundTrip(t *testing.T) {
	t.Parallel()
	for _, e := range envelopes {
		kept := keptBy(e)
		for _, body := range bodiesFor(e) {
			for _, id := range ids {
				for code := call.OK; code <= call.Unauthenticated; code++ {
					want := envelope.Response{Method: "a.B.C", ID: id, Body: body}
					if code != call.OK {
						want.Status = &call.Status{Code: code, Message: `no "é" ` + "\n: 5"}
					}
					data, err := e.AppendResponse([]byte("dst"), want)
					if err != nil || !bytes.HasPrefix(data, []byte("dst")) {
						t.Fatalf("%s: %q, %v", e.Name(), data, err)
					}
					got, err := e.ParseResponse(data[3:])
					if want.Status != nil {
						want.Body = nil
					}
					if !kept.status {
						want.Status = nil
					}
					if !kept.id {
						want.ID = 0
					}
					if err != nil || got.ID != want.ID || !reflect.DeepEqual(got.Status, want.Status) || !bytes.Equal(got.Body, want.Body) {
						t.Fatalf("%s: %q: got %+v, %v, want %+v", e.Name(), data, got, err, want)
					}
				}
			}
		}
	}
}

// TestDetails passes details of a status through the envelopes that have a place for them.
func TestDetails(t *testing.T) {
	t.Parallel()
	for _, details := range [][]call.Detail{
		{{Type: "type.googleapis.com/a.B", Value: []byte{0, 255}}, {Type: envelope.JSONData, Value: []byte(`{"a":1}`)}},
		{{Type: envelope.JSONData, Value: []byte(`{"a":1}`)}},
		{{Type: envelope.JSONData, Value: []byte(`not json`)}},
	} {
		want := &call.Status{Code: call.NotFound, Message: "m", Details: details}
		data, err := envelope.JSONRPC2{}.AppendResponse(nil, envelope.Response{Status: want})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := (envelope.JSONRPC2{}).ParseResponse(data); err != nil || !reflect.DeepEqual(got.Status, want) {
			t.Errorf("%s: got %+v, %v, want %+v", data, got.Status, err, want)
		}
	}
}

// TestTokens repeats ids as their callers wrote them.
func TestTokens(t *testing.T) {
	t.Parallel()
	for _, e := range []envelope.Envelope{envelope.JSONRPC{}, envelope.JSONRPC2{}} {
		for _, id := range []string{`"a"`, `"7"`, `7`, `1.5`, `-3`, `null`, `"\u0041"`} {
			req, err := e.ParseRequest([]byte(`{"jsonrpc":"2.0","method":"m","id":` + id + `}`))
			if err != nil || string(req.Token) != id {
				t.Fatalf("%s: got %q, %v", id, req.Token, err)
			}
			data, err := e.AppendResponse(nil, envelope.Response{ID: req.ID, Token: req.Token, Body: []byte("1")})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := e.ParseResponse(data); err != nil || string(got.Token) != id || got.ID != req.ID {
				t.Errorf("%s: got %+v, %v", data, got, err)
			}
		}
	}
}

// TestCut cuts valid messages at each byte. Each cut must be an error, which is a status.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, e := range envelopes {
		body := bodiesFor(e)[0]
		req, err := e.AppendRequest(nil, envelope.Request{Method: "a.B.C", ID: 300, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := e.AppendResponse(nil, envelope.Response{Method: "a.B.C", ID: 300, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		check := func(data, body []byte, err error, want call.Code) {
			t.Helper()
			if _, ok := e.(envelope.MsgpackRPC); ok && err == nil { // its value ends with the message, so the codec sees the cut
				if err := (msgpack.Codec{}).Unmarshal(body, new(any)); err == nil {
					t.Errorf("%q: the value % x is whole", data, body)
				}
				return
			}
			var own *envelope.Error
			if !errors.As(err, &own) || call.StatusOf(err).Code != want || own.Offset > len(data) {
				t.Errorf("%s: %q: got %v, want an *Error with %v", e.Name(), data, err, want)
			}
		}
		for n := range req {
			r, err := e.ParseRequest(req[:n:n])
			check(req[:n], r.Body, err, call.InvalidArgument)
		}
		for n := range resp {
			r, err := e.ParseResponse(resp[:n:n])
			check(resp[:n], r.Body, err, call.Internal)
		}
	}
}

// TestDamaged changes bytes at random. An error and a result are both correct; a panic is not.
func TestDamaged(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, e := range envelopes {
		req, err := e.AppendRequest(nil, envelope.Request{Method: "a.B.C", ID: 300, Body: bodiesFor(e)[0]})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := e.AppendResponse(nil, envelope.Response{Method: "a.B.C", ID: 300, Status: &call.Status{Code: call.NotFound, Message: "no"}})
		if err != nil {
			t.Fatal(err)
		}
		for range 3000 {
			for _, data := range [][]byte{bytes.Clone(req), bytes.Clone(resp)} {
				for range 1 + r.IntN(3) {
					data[r.IntN(len(data))] = byte(r.Uint32())
				}
				_, _ = e.ParseRequest(data)  // only a panic fails the test
				_, _ = e.ParseResponse(data) // only a panic fails the test
			}
		}
	}
}

func TestParseJSON(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ data, want, err string }{
		{`{"jsonrpc":"2.0","method":"m","id":1}`, "jsonrpc2", ""},
		{`{"method":"m","id":1}`, "json-rpc", ""},
		{`{"jsonrpc":"1.0","method":"m","id":1}`, "jsonrpc2", `jsonrpc2: member jsonrpc must be "2.0", not "\"1.0\"" at offset 11`},
		{`{"method":"m"}`, "json-rpc", "json-rpc: member id is missing at offset 0"},
		{`{"method"`, "jsonrpc2", "jsonrpc2: the message ends where : is expected at offset 9"},
	} {
		e, _, err := envelope.ParseJSON([]byte(row.data))
		if e.Name() != row.want || fmt.Sprint(err) != cmp.Or(row.err, "<nil>") {
			t.Errorf("%s: got %s, %v, want %s, %s", row.data, e.Name(), err, row.want, row.err)
		}
	}
}

func TestSplitBatch(t *testing.T) {
	t.Parallel()
	items, err := envelope.SplitBatch([]byte(` [ {"a":[1,"]"]} , 2,"x" ] `), 3)
	if err != nil || fmt.Sprintf("%s", items) != `[{"a":[1,"]"]} 2 "x"]` {
		t.Errorf("got %s, %v", items, err)
	}
	for _, bad := range []string{``, `[]`, `[ ]`, `[1,2,3,4]`, `[1,]`, `[1 2]`, `[1`, `[1]2`, `{}`, `[,1]`} {
		if items, err := envelope.SplitBatch([]byte(bad), 3); err == nil {
			t.Errorf("%s: got %s, want an error", bad, items)
		}
	}
	if envelope.IsBatch([]byte(`{"a":[]}`)) || !envelope.IsBatch([]byte("\n [")) || envelope.IsBatch(nil) {
		t.Error("IsBatch: wrong")
	}
}
