package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/rpcload"
	"example.com/ferry/codec"
	"example.com/ferry/internal/load/echo"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/envelope"
)

// The rows without calls.
const (
	codecAlone  = "the codec alone"
	decodeFerry = "ferry, request decoded alone"
	decodeJSON  = "encoding/json, request decoded alone"
)

// scanned are the cases of the rows that decode a request.
var scanned = []string{"json-rpc", "jsonrpc2"}

const (
	method = "bench.Echo.Say"
	id     = 4711
)

func alone() []harness.Contender {
	return []harness.Contender{
		{Name: codecAlone, Kind: harness.Limit, Version: "ferry's, without calls", Measure: func(name string, budget time.Duration) (harness.Figures, error) {
			return measure(name, budget, bothWays)
		}},
		{Name: decodeFerry, Kind: harness.Ferry, Version: "this commit", Absent: absent(decodeFerry), Measure: func(name string, budget time.Duration) (harness.Figures, error) {
			return measure(name, budget, scan)
		}},
		{Name: decodeJSON, Kind: harness.Peer, Version: "envelope, then params", Absent: absent(decodeJSON), Measure: func(name string, budget time.Duration) (harness.Figures, error) {
			return measure(name, budget, decodeTwice)
		}},
	}
}

// work is an operation on the message of a content type; nil if the row has no such case.
type work func(c envelope.Content) (op func() error, err error)

// measure times the operation of a case. The figure is in us of CPU time, as that of a call.
func measure(name string, budget time.Duration, w work) (harness.Figures, error) {
	c, ok := content.ByType("application/" + name)
	if !ok {
		return nil, fmt.Errorf("no content type application/%s", name)
	}
	op, err := w(c)
	if op == nil || err != nil {
		return nil, err
	}
	if err := op(); err != nil {
		return nil, err
	}
	f := harness.Time(func(n int) {
		for range n {
			if err := op(); err != nil {
				panic(err) // it has succeeded with the same bytes
			}
		}
	}, budget)
	return harness.Figures{rpcload.PerCall: f[harness.CPUPerOp] / 1000}, nil
}

// bothWays encodes and decodes a request and its response, as client and server together do.
func bothWays(c envelope.Content) (func() error, error) {
	request, empty := echo.Of(c.Type).Values()
	var wire []byte
	return func() error {
		for _, respond := range []bool{false, true} {
			var err error
			if wire, err = encode(wire[:0], c, request, respond); err != nil {
				return err
			}
			body := wire
			if c.Envelope != nil && !respond {
				var r envelope.Request
				r, err = c.Envelope.ParseRequest(wire)
				body = r.Body
			} else if c.Envelope != nil {
				var r envelope.Response
				r, err = c.Envelope.ParseResponse(wire)
				body = r.Body
			}
			if err == nil {
				err = c.Codec.Unmarshal(body, empty())
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// encode appends a request, or a response with the same value.
func encode(dst []byte, c envelope.Content, v any, respond bool) ([]byte, error) {
	if c.Envelope == nil {
		return codec.Append(c.Codec, dst, v)
	}
	body, err := c.Codec.Marshal(v)
	if err != nil {
		return dst, err
	}
	if respond {
		return c.Envelope.AppendResponse(dst, envelope.Response{Method: method, ID: id, Body: body})
	}
	return c.Envelope.AppendRequest(dst, envelope.Request{Method: method, ID: id, Body: body})
}

// isScanned returns a request in the envelope if c is one of the cases scanned.
func isScanned(c envelope.Content) ([]byte, error) {
	for _, name := range scanned {
		if caseOf(c.Type) == name {
			request, _ := echo.Of(c.Type).Values()
			return encode(nil, c, request, false)
		}
	}
	return nil, nil
}

// scan decodes a request as ferry does.
func scan(c envelope.Content) (func() error, error) {
	wire, err := isScanned(c)
	if wire == nil || err != nil {
		return nil, err
	}
	return func() error {
		r, err := c.Envelope.ParseRequest(wire)
		if err != nil {
			return err
		}
		return c.Codec.Unmarshal(r.Body, new(rpcload.Plain))
	}, nil
}

// decodeTwice decodes a request with encoding/json only. The parameters of JSON-RPC 1.0 are a list with one item.
func decodeTwice(c envelope.Content) (func() error, error) {
	wire, err := isScanned(c)
	if wire == nil || err != nil {
		return nil, err
	}
	_, isList := c.Envelope.(envelope.JSONRPC)
	return func() error {
		var r struct {
			Method string           `json:"method"`
			Params *json.RawMessage `json:"params"`
			ID     *json.RawMessage `json:"id"`
		}
		if err := json.Unmarshal(wire, &r); err != nil {
			return err
		}
		if r.Method != method || r.Params == nil || r.ID == nil {
			return errors.New("not the request")
		}
		var params [1]any
		params[0] = new(rpcload.Plain)
		if isList {
			return json.Unmarshal(*r.Params, &params)
		}
		return json.Unmarshal(*r.Params, params[0])
	}, nil
}
