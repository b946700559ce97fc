package main

import (
	"context"
	"errors"
	"io"
	"time"

	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/ferry/codec/protobuf"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// newGreeter returns a server with a method that no .proto file declares, for clients that ask what it is.
func newGreeter() *rpc.Server {
	s := rpc.NewServer(&rpc.ServerConfig{Contents: []envelope.Content{{Type: "application/protobuf", Codec: protobuf.Codec{}}}})
	rpc.Handle(s, "greeter.Greeter.Hello", func(_ context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
		return wrapperspb.String("Hello, " + in.Value), nil
	})
	return s
}

// The metadata that a server sends back.
const (
	initialKey  = "x-grpc-test-echo-initial"
	trailingKey = "x-grpc-test-echo-trailing-bin"
)

// method is a method of grpc.testing.TestService.
type method struct {
	name                         string
	clientStreams, serverStreams bool
	handle                       func(context.Context, call.ServerStream) (proto.Message, error)
}

func (m *method) Name() string        { return m.name }
func (m *method) Shape() (bool, bool) { return m.clientStreams, m.serverStreams }

// methods is a call.Service.
type methods map[string]*method

func (s methods) Method(name string) call.Method {
	if m, ok := s[name]; ok {
		return m
	}
	return nil
}

// Serve calls the method, and sends back the metadata that the case custom_metadata wants back.
func (s methods) Serve(ctx context.Context, m call.Method, stream call.ServerStream) {
	if m == nil {
		stream.Finish(nil, &call.Status{Code: call.Unimplemented, Message: "no method " + stream.Head().Method}, nil)
		return
	}
	var header, trailer call.Metadata
	if v := stream.Head().Metadata.Get(initialKey); v != "" {
		header.Add(initialKey, v)
	}
	if v := stream.Head().Metadata.Get(trailingKey); v != "" {
		trailer.Add(trailingKey, v)
	}
	if v := stream.Head().Metadata.Get("x-client"); v != "" {
		trailer.Add("x-seen", v)
	}
	err := stream.SetHeader(header)
	var out proto.Message
	if err == nil {
		out, err = m.(*method).handle(ctx, stream)
	}
	var data []byte
	if m, ok := out.(raw); ok {
		data = m.data
	} else if err == nil && out != nil {
		if data, err = proto.Marshal(out); data == nil {
			data = []byte{}
		}
	}
	stream.Finish(data, call.StatusOf(err), trailer)
}

// receive decodes the next message.
func receive[T proto.Message](s call.ServerStream, in T) error {
	data, err := s.Recv()
	if err != nil {
		return err
	}
	return proto.Unmarshal(data, in)
}

// testService is grpc.testing.TestService without its methods for ORCA and for compression, and interop.Echo.
var testService = func() methods {
	s := methods{}
	for _, m := range []*method{
		{name: "EmptyCall", handle: emptyCall},
		{name: "UnaryCall", handle: unaryCall},
		{name: "StreamingOutputCall", serverStreams: true, handle: outputCall},
		{name: "StreamingInputCall", clientStreams: true, handle: inputCall},
		{name: "FullDuplexCall", clientStreams: true, serverStreams: true, handle: duplexCall},
	} {
		m.name = "grpc.testing.TestService." + m.name
		s[m.name] = m
	}
	s[echoUnary] = &method{name: echoUnary, handle: echo}
	s[echoStream] = &method{name: echoStream, clientStreams: true, serverStreams: true, handle: echo}
	return s
}()

func emptyCall(_ context.Context, s call.ServerStream) (proto.Message, error) {
	return new(testpb.Empty), receive(s, new(testpb.Empty))
}

func unaryCall(_ context.Context, s call.ServerStream) (proto.Message, error) {
	in := new(testpb.SimpleRequest)
	if err := receive(s, in); err != nil {
		return nil, err
	}
	return &testpb.SimpleResponse{Payload: payload(in.ResponseSize)}, echoed(in.ResponseStatus)
}

func payload(size int32) *testpb.Payload { return &testpb.Payload{Body: make([]byte, max(size, 0))} }

// echoed returns the status that a client wants back.
func echoed(s *testpb.EchoStatus) error {
	if s.GetCode() == 0 {
		return nil
	}
	return &call.Status{Code: call.Code(s.Code), Message: s.Message}
}

func outputCall(ctx context.Context, s call.ServerStream) (proto.Message, error) {
	in := new(testpb.StreamingOutputCallRequest)
	if err := receive(s, in); err != nil {
		return nil, err
	}
	return nil, respond(ctx, s, in)
}

// respond sends the messages that a request names, at the times that it names.
func respond(ctx context.Context, s call.ServerStream, in *testpb.StreamingOutputCallRequest) error {
	if err := echoed(in.ResponseStatus); err != nil {
		return err
	}
	for _, p := range in.ResponseParameters {
		select {
		case <-time.After(time.Duration(p.IntervalUs) * time.Microsecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		data, err := proto.Marshal(&testpb.StreamingOutputCallResponse{Payload: payload(p.Size)})
		if err != nil {
			return err
		}
		if err := s.Send(data); err != nil {
			return err
		}
	}
	return nil
}

func inputCall(_ context.Context, s call.ServerStream) (proto.Message, error) {
	sum := int32(0)
	for {
		in := new(testpb.StreamingInputCallRequest)
		err := receive(s, in)
		if errors.Is(err, io.EOF) {
			return &testpb.StreamingInputCallResponse{AggregatedPayloadSize: sum}, nil
		}
		if err != nil {
			return nil, err
		}
		sum += int32(len(in.Payload.GetBody()))
	}
}

func duplexCall(ctx context.Context, s call.ServerStream) (proto.Message, error) {
	for {
		in := new(testpb.StreamingOutputCallRequest)
		err := receive(s, in)
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err == nil {
			err = respond(ctx, s, in)
		}
		if err != nil {
			return nil, err
		}
	}
}
