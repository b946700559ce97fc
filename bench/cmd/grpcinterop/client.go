package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"

	"example.com/ferry/rpc/call"
)

// The sizes of payloads in bytes, as doc/interop-test-descriptions.md of gRPC gives them.
const (
	largeRequest  = 271828
	largeResponse = 314159
)

var (
	requestSizes  = []int{27182, 8, 1828, 45904}
	responseSizes = []int32{31415, 9, 2653, 58979}
)

// testCase is a case of doc/interop-test-descriptions.md.
type testCase struct {
	name string
	run  func(context.Context, call.Conn) error
}

var cases = []testCase{
	{"empty_unary", emptyUnary},
	{"large_unary", largeUnary},
	{"client_streaming", clientStreaming},
	{"server_streaming", serverStreaming},
	{"ping_pong", pingPong},
	{"empty_stream", emptyStream},
	{"timeout_on_sleeping_server", timeoutOnSleepingServer},
	{"cancel_after_begin", cancelAfterBegin},
	{"cancel_after_first_response", cancelAfterFirstResponse},
	{"status_code_and_message", statusCodeAndMessage},
	{"special_status_message", specialStatusMessage},
	{"custom_metadata", customMetadata},
	{"unimplemented_method", unimplemented("grpc.testing.TestService.UnimplementedCall")},
	{"unimplemented_service", unimplemented("grpc.testing.UnimplementedService.UnimplementedCall")},
}

func head(name string) *call.Head {
	return &call.Head{Method: "grpc.testing.TestService." + name, Content: "application/protobuf"}
}

// unary makes a unary call.
func unary(ctx context.Context, c call.Conn, h *call.Head, in, out proto.Message) (call.Response, error) {
	data, err := proto.Marshal(in)
	if err != nil {
		return call.Response{}, err
	}
	var resp call.Response
	defer resp.Release()
	if err := c.Call(ctx, h, data, &resp); err != nil {
		return resp, err
	}
	return resp, proto.Unmarshal(resp.Data, out)
}

func send(s call.ClientStream, in proto.Message) error {
	data, err := proto.Marshal(in)
	if err != nil {
		return err
	}
	return s.Send(data)
}

// receiveSize receives a message of a StreamingOutputCall or a FullDuplexCall with a payload of the size.
func receiveSize(s call.ClientStream, size int32) error {
	data, err := s.Recv()
	if err != nil {
		return err
	}
	out := new(testpb.StreamingOutputCallResponse)
	if err := proto.Unmarshal(data, out); err != nil {
		return err
	}
	if n := len(out.Payload.GetBody()); n != int(size) {
		return fmt.Errorf("got a payload of %d bytes, want %d", n, size)
	}
	return nil
}

// wantEnd returns an error unless the stream has ended with OK.
func wantEnd(s call.ClientStream) error {
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("at the end: got %w, want io.EOF", err)
	}
	return nil
}

// wantStatus returns an error unless err is the status.
func wantStatus(err error, code call.Code, message string) error {
	if s := call.StatusOf(err); s == nil || s.Code != code || message != "" && s.Message != message {
		return fmt.Errorf("got %w, want %v %q", err, code, message)
	}
	return nil
}

func emptyUnary(ctx context.Context, c call.Conn) error {
	_, err := unary(ctx, c, head("EmptyCall"), new(testpb.Empty), new(testpb.Empty))
	return err
}

func largeUnary(ctx context.Context, c call.Conn) error {
	out := new(testpb.SimpleResponse)
	in := &testpb.SimpleRequest{ResponseSize: largeResponse, Payload: payload(largeRequest)}
	if _, err := unary(ctx, c, head("UnaryCall"), in, out); err != nil {
		return err
	}
	if n := len(out.Payload.GetBody()); n != largeResponse {
		return fmt.Errorf("got a payload of %d bytes", n)
	}
	return nil
}

func clientStreaming(ctx context.Context, c call.Conn) error {
	s, err := c.Open(ctx, head("StreamingInputCall"))
	if err != nil {
		return err
	}
	sum := 0
	for _, n := range requestSizes {
		if err := send(s, &testpb.StreamingInputCallRequest{Payload: payload(int32(n))}); err != nil {
			return err
		}
		sum += n
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	data, err := s.Recv()
	if err != nil {
		return err
	}
	out := new(testpb.StreamingInputCallResponse)
	if err := proto.Unmarshal(data, out); err != nil {
		return err
	}
	if int(out.AggregatedPayloadSize) != sum {
		return fmt.Errorf("got %d bytes, want %d", out.AggregatedPayloadSize, sum)
	}
	return wantEnd(s)
}

func serverStreaming(ctx context.Context, c call.Conn) error {
	s, err := c.Open(ctx, head("StreamingOutputCall"))
	if err != nil {
		return err
	}
	in := new(testpb.StreamingOutputCallRequest)
	for _, n := range responseSizes {
		in.ResponseParameters = append(in.ResponseParameters, &testpb.ResponseParameters{Size: n})
	}
	if err := errors.Join(send(s, in), s.CloseSend()); err != nil {
		return err
	}
	for _, n := range responseSizes {
		if err := receiveSize(s, n); err != nil {
			return err
		}
	}
	return wantEnd(s)
}

// ping sends a message of a FullDuplexCall and receives one.
func ping(s call.ClientStream, request int, response int32) error {
	in := &testpb.StreamingOutputCallRequest{
		ResponseParameters: []*testpb.ResponseParameters{{Size: response}}, Payload: payload(int32(request)),
	}
	if err := send(s, in); err != nil {
		return err
	}
	return receiveSize(s, response)
}

func pingPong(ctx context.Context, c call.Conn) error {
	s, err := c.Open(ctx, head("FullDuplexCall"))
	if err != nil {
		return err
	}
	for i := range requestSizes {
		if err := ping(s, requestSizes[i], responseSizes[i]); err != nil {
			return err
		}
	}
	return errors.Join(s.CloseSend(), wantEnd(s))
}

func emptyStream(ctx context.Context, c call.Conn) error {
	s, err := c.Open(ctx, head("FullDuplexCall"))
	if err != nil {
		return err
	}
	return errors.Join(s.CloseSend(), wantEnd(s))
}

func timeoutOnSleepingServer(ctx context.Context, c call.Conn) error {
	h := head("FullDuplexCall")
	h.Deadline = time.Now().Add(time.Millisecond)
	s, err := c.Open(ctx, h)
	if err != nil {
		return wantStatus(err, call.DeadlineExceeded, "")
	}
	if err := send(s, &testpb.StreamingOutputCallRequest{Payload: payload(27182)}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err = s.Recv()
	return wantStatus(err, call.DeadlineExceeded, "")
}

func cancelAfterBegin(ctx context.Context, c call.Conn) error {
	s, err := c.Open(ctx, head("StreamingInputCall"))
	if err != nil {
		return err
	}
	s.Cancel()
	_, err = s.Recv()
	return wantStatus(err, call.Canceled, "")
}

func cancelAfterFirstResponse(ctx context.Context, c call.Conn) error {
	s, err := c.Open(ctx, head("FullDuplexCall"))
	if err != nil {
		return err
	}
	if err := ping(s, requestSizes[0], responseSizes[0]); err != nil {
		return err
	}
	s.Cancel()
	_, err = s.Recv()
	return wantStatus(err, call.Canceled, "")
}

// wantEchoed makes a unary call that fails with the status.
func wantEchoed(ctx context.Context, c call.Conn, status *testpb.EchoStatus) error {
	_, err := unary(ctx, c, head("UnaryCall"), &testpb.SimpleRequest{ResponseStatus: status}, new(testpb.SimpleResponse))
	return wantStatus(err, call.Code(status.Code), status.Message)
}

func statusCodeAndMessage(ctx context.Context, c call.Conn) error {
	status := &testpb.EchoStatus{Code: int32(call.Unknown), Message: "test status message"}
	if err := wantEchoed(ctx, c, status); err != nil {
		return err
	}
	s, err := c.Open(ctx, head("FullDuplexCall"))
	if err != nil {
		return err
	}
	if err := errors.Join(send(s, &testpb.StreamingOutputCallRequest{ResponseStatus: status}), s.CloseSend()); err != nil {
		return err
	}
	_, err = s.Recv()
	return wantStatus(err, call.Unknown, status.Message)
}

func specialStatusMessage(ctx context.Context, c call.Conn) error {
	return wantEchoed(ctx, c, &testpb.EchoStatus{
		Code: int32(call.Unknown), Message: "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n",
	})
}

func customMetadata(ctx context.Context, c call.Conn) error {
	const initial, trailing = "test_initial_metadata_value", "\x0a\x0b\x0a\x0b\x0a\x0b"
	check := func(header, trailer call.Metadata) error {
		if header.Get(initialKey) != initial || trailer.Get(trailingKey) != trailing {
			return fmt.Errorf("got header %q and trailer %q", header, trailer)
		}
		return nil
	}
	h := head("UnaryCall")
	h.Metadata.Add(initialKey, initial)
	h.Metadata.Add(trailingKey, trailing)
	resp, err := unary(ctx, c, h, &testpb.SimpleRequest{ResponseSize: 1, Payload: payload(1)}, new(testpb.SimpleResponse))
	if err != nil {
		return err
	}
	if err := check(resp.Header, resp.Trailer); err != nil {
		return err
	}
	h.Method = head("FullDuplexCall").Method
	s, err := c.Open(ctx, h)
	if err != nil {
		return err
	}
	if err := ping(s, 1, 1); err != nil {
		return err
	}
	if err := errors.Join(s.CloseSend(), wantEnd(s)); err != nil {
		return err
	}
	header, err := s.Header()
	return errors.Join(err, check(header, s.Trailer()))
}

// unimplemented calls a method that the server does not have.
func unimplemented(name string) func(context.Context, call.Conn) error {
	return func(ctx context.Context, c call.Conn) error {
		h := &call.Head{Method: name, Content: "application/protobuf"}
		_, err := unary(ctx, c, h, new(testpb.Empty), new(testpb.Empty))
		return wantStatus(err, call.Unimplemented, "")
	}
}
