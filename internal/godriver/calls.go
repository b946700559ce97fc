package godriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/ferry/protocol/native/conformance"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
)

// call begins a call, which goes on beside the next instructions.
func (d *driver) call(i *conformance.Instruction) error {
	if i.Content != "" && i.Content != "application/json" {
		return errUnsupported
	}
	if d.caller == nil {
		c, err := rpc.DialNode(d.ctx, d.client, nil)
		if err != nil {
			return err
		}
		d.caller = c
	}
	ctx, cancel := context.WithCancel(d.ctx)
	d.calls[i.Call] = cancel
	for name, value := range i.Metadata {
		ctx = rpc.WithMetadata(ctx, name, value)
	}
	d.tasks.Go(func() {
		defer cancel()
		make := d.unary
		if i.Stream {
			make = d.stream
		}
		trailer, err := make(ctx, i)
		d.result(i.Call, trailer, err)
	})
	return nil
}

// result reports the end of a call.
func (d *driver) result(number int, trailer call.Metadata, err error) {
	code := 0
	p := conformance.Report{Event: "result", Call: number, Code: &code}
	if status := call.StatusOf(err); status != nil {
		code, p.Message = int(status.Code), status.Message
	}
	for _, f := range trailer {
		if p.Trailer == nil {
			p.Trailer = map[string]string{}
		}
		p.Trailer[f.Name] = f.Value
	}
	d.report(p)
}

func (d *driver) response(number int, message json.RawMessage) {
	d.report(conformance.Report{Event: "response", Call: number, Payload: conformance.HexBytes(message)})
}

// unary makes a call with one request and one response.
func (d *driver) unary(ctx context.Context, i *conformance.Instruction) (trailer call.Metadata, err error) {
	if len(i.Payloads) != 1 {
		return nil, fmt.Errorf("a unary call with %d requests", len(i.Payloads))
	}
	request := json.RawMessage(i.Payloads[0])
	options := []rpc.CallOption{rpc.ReceiveTrailer(&trailer)}
	if i.Timeout > 0 {
		options = append(options, rpc.Timeout(time.Duration(i.Timeout)*time.Millisecond))
	}
	out, err := rpc.Call[json.RawMessage](ctx, d.caller, i.Method, &request, options...)
	if err == nil {
		d.response(i.Call, *out)
	}
	return trailer, err
}

// stream makes a call with any number of requests and responses.
func (d *driver) stream(ctx context.Context, i *conformance.Instruction) (call.Metadata, error) {
	s, err := rpc.Open[json.RawMessage, json.RawMessage](ctx, d.caller, i.Method)
	if err != nil {
		return nil, err
	}
	d.tasks.Go(func() {
		for range max(i.Count, 1) {
			for _, p := range i.Payloads {
				request := json.RawMessage(p)
				if s.Send(&request) != nil {
					return // Recv says why
				}
			}
		}
		if !i.Open {
			_ = s.CloseSend() // Recv says why not
		}
	})
	for {
		out, err := s.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return s.Trailer(), nil
		case err != nil:
			return s.Trailer(), err
		}
		d.response(i.Call, *out)
	}
}

func (d *driver) cancel(i *conformance.Instruction) error {
	cancel := d.calls[i.Call]
	if cancel == nil {
		return fmt.Errorf("there is no call %d", i.Call)
	}
	cancel()
	return nil
}
