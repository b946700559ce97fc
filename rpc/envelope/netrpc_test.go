package envelope_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"testing"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// Arith is a service of net/rpc.
type Arith struct{}

// Args are the operands of Arith.
type Args struct{ A, B int }

// Div returns the quotient.
func (Arith) Div(args *Args, quotient *int) error {
	if args.B == 0 {
		return fmt.Errorf("divide by zero")
	}
	*quotient = args.A / args.B
	return nil
}

// TestServesNetRPC has a client of net/rpc/jsonrpc call a server that uses the envelope.
func TestServesNetRPC(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close()
	go func() {
		decoder := json.NewDecoder(far)
		for {
			var raw json.RawMessage
			if decoder.Decode(&raw) != nil {
				return
			}
			req, err := envelope.JSONRPC{}.ParseRequest(raw)
			var args Args
			resp := envelope.Response{ID: req.ID, Token: req.Token, Body: []byte("2")}
			if err != nil || req.Method != "Arith.Div" || json.Unmarshal(req.Body, &args) != nil {
				resp.Status = &call.Status{Code: call.InvalidArgument, Message: fmt.Sprint(req, err)}
			} else if args.B == 0 {
				resp.Status = &call.Status{Code: call.OutOfRange, Message: "divide by zero"}
			}
			data, err := envelope.JSONRPC{}.AppendResponse(nil, resp)
			if err != nil {
				return
			}
			if _, err := far.Write(data); err != nil {
				return
			}
		}
	}()
	client := jsonrpc.NewClient(near)
	defer client.Close()
	var quotient int
	if err := client.Call("Arith.Div", &Args{4, 2}, &quotient); err != nil || quotient != 2 {
		t.Errorf("got %d, %v, want 2", quotient, err)
	}
	if err := client.Call("Arith.Div", &Args{4, 0}, &quotient); err == nil || err.Error() != "OUT_OF_RANGE: divide by zero" {
		t.Errorf("got %v, want the status", err)
	}
}

// TestCallsNetRPC calls a server of net/rpc/jsonrpc with the envelope.
func TestCallsNetRPC(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer near.Close()
	server := rpc.NewServer()
	if err := server.Register(Arith{}); err != nil {
		t.Fatal(err)
	}
	go server.ServeCodec(jsonrpc.NewServerCodec(far))
	decoder := json.NewDecoder(near)
	for id, row := range []struct{ body, want string }{{`{"A":4,"B":2}`, "2 OK"}, {`{"A":4,"B":0}`, " UNKNOWN: divide by zero"}} {
		data, err := envelope.JSONRPC{}.AppendRequest(nil, envelope.Request{Method: "Arith.Div", ID: uint64(id), Body: []byte(row.body)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := near.Write(data); err != nil {
			t.Fatal(err)
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		resp, err := envelope.JSONRPC{}.ParseResponse(raw)
		if got := string(resp.Body) + " " + printStatus(resp.Status); err != nil || got != row.want || resp.ID != uint64(id) {
			t.Errorf("%s: got %s, %v, want %s", raw, got, err, row.want)
		}
	}
}
