package envelope_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"runtime"
	"testing"

	"example.com/ferry/rpc/envelope"
)

// fuzzEnvelope parses any data as a request and as a response. Parts lie within data. What is parsed can be written again, and
// then parses to the same.
func fuzzEnvelope(f *testing.F, e envelope.Envelope) {
	_, all := vectors(f)
	isJSON := e == envelope.Envelope(envelope.JSONRPC{}) || e == envelope.Envelope(envelope.JSONRPC2{})
	for _, v := range all {
		if v.envelope == e {
			f.Add(v.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		if r, err := e.ParseRequest(data); err == nil {
			if isJSON && !json.Valid(data) {
				t.Fatalf("%q is no JSON, and parses to %+v", data, r)
			}
			again, err := e.AppendRequest(nil, r)
			if err != nil {
				t.Fatalf("%+v cannot be written: %v", r, err)
			}
			if got, err := e.ParseRequest(again); err != nil || !reflect.DeepEqual(normal(got), normal(r)) {
				t.Fatalf("%q: got %+v, %v, want %+v", again, got, err, r)
			}
		}
		if r, err := e.ParseResponse(data); err == nil {
			again, err := e.AppendResponse(nil, r)
			if err != nil {
				t.Fatalf("%+v cannot be written: %v", r, err)
			}
			got, err := e.ParseResponse(again)
			if err != nil || got.ID != r.ID || !bytes.Equal(got.Body, r.Body) || (got.Status == nil) != (r.Status == nil) {
				t.Fatalf("%q: got %+v, %v, want %+v", again, got, err, r)
			}
			if r.Status != nil && got.Status.Code != r.Status.Code {
				t.Fatalf("%q: got %v, want %v", again, got.Status, r.Status)
			}
		}
		if !bytes.Equal(data, before) {
			t.Fatal("parsing changes its input")
		}
	})
}

// normal makes nil of empty slices, so that reflect.DeepEqual compares contents.
func normal(r envelope.Request) envelope.Request {
	r.Body, r.Token = append([]byte(nil), r.Body...), append([]byte(nil), r.Token...)
	return r
}

func FuzzJSONRPC(f *testing.F)    { fuzzEnvelope(f, envelope.JSONRPC{}) }
func FuzzJSONRPC2(f *testing.F)   { fuzzEnvelope(f, envelope.JSONRPC2{}) }
func FuzzGRPC(f *testing.F)       { fuzzEnvelope(f, envelope.GRPC{}) }
func FuzzProtoRPC(f *testing.F)   { fuzzEnvelope(f, envelope.ProtoRPC{}) }
func FuzzMsgpackRPC(f *testing.F) { fuzzEnvelope(f, envelope.MsgpackRPC{}) }
func FuzzBSONRPC(f *testing.F)    { fuzzEnvelope(f, envelope.BSONRPC{}) }

// FuzzJSONScan compares the scan with encoding/json on texts that both accept.
func FuzzJSONScan(f *testing.F) {
	_, all := vectors(f)
	for _, v := range all {
		f.Add(v.data)
	}
	f.Add([]byte(`{"jsonrpc":"2.0","method":"m","params":{"a":"[[{{\\","b":[{},[]],"cdefghijklmnop":"\""},"id":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := envelope.JSONRPC2{}.ParseRequest(data)
		var want map[string]json.RawMessage
		if err != nil || json.Unmarshal(data, &want) != nil {
			return
		}
		var method string
		if err := json.Unmarshal(want["method"], &method); err != nil || method != r.Method || !bytes.Equal(want["id"], r.Token) {
			t.Fatalf("got %+v, want method %q, id %s", r, method, want["id"])
		}
		var list []json.RawMessage
		switch params := want["params"]; {
		case params == nil || string(params) == "null" || params[0] == '[' && json.Unmarshal(params, &list) == nil && len(list) == 0:
			if string(r.Body) != "null" {
				t.Fatalf("got %s, want null", r.Body)
			}
		case len(list) == 1 && !bytes.Equal(r.Body, list[0]), len(list) != 1 && !bytes.Equal(r.Body, params):
			t.Fatalf("got %s of %s", r.Body, params)
		}
	})
}

func FuzzSplitBatch(f *testing.F) {
	f.Add([]byte(`[{"jsonrpc":"2.0","method":"m","id":1},2]`))
	f.Add([]byte(`[1,]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		items, err := envelope.SplitBatch(data, 8)
		if err == nil && (len(items) == 0 || len(items) > 8 || !envelope.IsBatch(data)) {
			t.Fatalf("%d items of %q", len(items), data)
		}
	})
}

// TestAllocation parses short messages that claim to be long. Memory must follow the message's size, not its claims.
func TestAllocation(t *testing.T) {
	var before, after runtime.MemStats
	_, all := vectors(t)
	runtime.ReadMemStats(&before)
	for range 100 {
		for _, v := range all {
			_, _ = v.envelope.ParseRequest(v.data)  // an error or not: only memory counts
			_, _ = v.envelope.ParseResponse(v.data) // an error or not: only memory counts
		}
	}
	runtime.ReadMemStats(&after)
	if perMessage := (after.TotalAlloc - before.TotalAlloc) / uint64(200*len(all)); perMessage > 4096 {
		t.Errorf("%d bytes for each message, want at most 4096", perMessage)
	}
}
