package envelope_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.com/ferry/rpc/envelope"
)

// benchmarkValue has 39 fields: 8 texts of 54 bytes, numbers and booleans, about 1,050 bytes of JSON.
type benchmarkValue struct {
	Field1, Field9, Field18, Field80, Field81, Field105, Field106, Field128                                                                                                                                                 *string
	Field2, Field3, Field280, Field6, Field22, Field100, Field130, Field129, Field104, Field67, Field68, Field60, Field103, Field101, Field102, Field29, Field16, Field131, Field150, Field271, Field272, Field270, Field30 *int32
	Field4                                                                                                                                                                                                                  *int64
	Field59, Field21, Field78, Field12, Field17, Field13, Field14                                                                                                                                                           *bool
}

func benchmarkBody(tb testing.TB) []byte {
	tb.Helper()
	text, number, long, yes := "许多往事在眼前一幕一幕，变的那麼模糊", int32(100000), int64(100000), true
	members := map[string]any{"Field4": &long}
	for _, name := range strings.Fields("Field1 Field9 Field18 Field80 Field81 Field105 Field106 Field128") {
		members[name] = &text
	}
	for _, name := range strings.Fields("Field2 Field3 Field280 Field6 Field22 Field100 Field130 Field129 Field104 Field67 Field68 Field60 Field103 Field101 Field102 Field29 Field16 Field131 Field150 Field271 Field272 Field270 Field30") {
		members[name] = &number
	}
	for _, name := range strings.Fields("Field59 Field21 Field78 Field12 Field17 Field13 Field14") {
		members[name] = &yes
	}
	body, err := json.Marshal(members)
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// BenchmarkParseRequest compares the scan of an envelope with decoding it by encoding/json, as net/rpc/jsonrpc and go-micro do: the
// envelope first, then params. The rows named -decode include the value.
func BenchmarkParseRequest(b *testing.B) {
	body := benchmarkBody(b)
	for _, e := range []envelope.Envelope{envelope.JSONRPC{}, envelope.JSONRPC2{}} {
		data, err := e.AppendRequest(nil, envelope.Request{Method: "greeter.Greeter.Hello", ID: 4711, Body: body})
		if err != nil {
			b.Fatal(err)
		}
		var value benchmarkValue
		b.Run(e.Name(), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := e.ParseRequest(data); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(e.Name()+"-decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := e.ParseRequest(data)
				if err == nil {
					err = json.Unmarshal(r.Body, &value)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(e.Name()+"-encodingjson-decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := decodeTwice(data, &value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// decodeTwice is what net/rpc/jsonrpc does.
func decodeTwice(data []byte, value any) error {
	var r struct {
		Version string           `json:"jsonrpc"`
		Method  string           `json:"method"`
		Params  *json.RawMessage `json:"params"`
		ID      *json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	if (*r.Params)[0] == '{' {
		return json.Unmarshal(*r.Params, value)
	}
	return json.Unmarshal(*r.Params, &[1]any{value})
}

func BenchmarkAppendRequest(b *testing.B) {
	body := benchmarkBody(b)
	for _, e := range envelopes {
		r := envelope.Request{Method: "greeter.Greeter.Hello", ID: 4711, Body: body}
		if bodies := bodiesFor(e); !strings.HasPrefix(e.Name(), "json") {
			r.Body = bodies[0]
		}
		buf := make([]byte, 0, 4096)
		b.Run(e.Name(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.AppendRequest(buf, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestAppendAllocates checks the encoders, which are part of each call.
func TestAppendAllocates(t *testing.T) {
	buf := make([]byte, 0, 1<<17)
	for _, e := range envelopes {
		req := envelope.Request{Method: "greeter.Greeter.Hello", ID: 4711, Body: bodiesFor(e)[0]}
		resp := envelope.Response{Method: req.Method, ID: req.ID, Body: req.Body}
		if n := testing.AllocsPerRun(100, func() {
			_, _ = e.AppendRequest(buf, req)   // only allocations are counted
			_, _ = e.AppendResponse(buf, resp) // only allocations are counted
		}); n > 0 {
			t.Errorf("%s: %v allocations to write a request and a response, want none", e.Name(), n)
		}
		data, err := e.AppendRequest(nil, req)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = e.ParseRequest(data) }); n > 1 {
			t.Errorf("%s: %v allocations to parse a request, want at most the method's name", e.Name(), n)
		}
	}
}

func Example() {
	data, err := envelope.JSONRPC2{}.AppendRequest(nil, envelope.Request{Method: "greeter.Greeter.Hello", ID: 1, Body: []byte(`{"name":"Bo"}`)})
	fmt.Printf("%s %v\n", data, err)
	req, err := envelope.JSONRPC2{}.ParseRequest(data)
	fmt.Printf("%s %d %s %v\n", req.Method, req.ID, req.Body, err)
	// Output:
	// {"jsonrpc":"2.0","method":"greeter.Greeter.Hello","params":{"name":"Bo"},"id":1} <nil>
	// greeter.Greeter.Hello 1 {"name":"Bo"} <nil>
}
