package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/protobuf/proto"

	"example.com/ferry/rpc/call"
)

// The service of bench/cmd/grpcpeer, which Python's library has too: each message comes back.
const (
	echoUnary  = "interop.Echo.Unary"
	echoStream = "interop.Echo.Stream"
	maxMessage = 16 << 20 // bytes
)

// raw is a message of interop.Echo: any bytes.
type raw struct {
	proto.Message
	data []byte
}

// echo handles both methods. The metadata x-status is the status that a call ends with.
func echo(_ context.Context, s call.ServerStream) (proto.Message, error) {
	if text := s.Head().Metadata.Get("x-status"); text != "" {
		code, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, err
		}
		return nil, call.Errorf(call.Code(code), "as asked")
	}
	for {
		data, err := s.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		case s.Head().Method == echoUnary:
			return raw{data: data}, nil
		}
		if err := s.Send(data); err != nil {
			return nil, err
		}
	}
}

// callEcho calls a server of interop.Echo: messages of several sizes, compressed and not, every status, and a stream.
func callEcho(ctx context.Context, c call.Conn) error {
	for _, compression := range []string{"", "gzip"} {
		for _, size := range []int{0, 1, 1000, 5 << 20} {
			if err := echoOnce(ctx, c, size, compression); err != nil {
				return fmt.Errorf("a message of %d bytes, compression %q: %w", size, compression, err)
			}
		}
	}
	for code := call.Canceled; code <= call.Unauthenticated; code++ {
		h := &call.Head{Method: echoUnary, Content: "application/protobuf"}
		h.Metadata.Add("x-status", strconv.Itoa(int(code)))
		var resp call.Response
		if err := wantStatus(c.Call(ctx, h, nil, &resp), code, "as asked"); err != nil {
			return err
		}
	}
	s, err := c.Open(ctx, &call.Head{Method: echoStream, Content: "application/protobuf"})
	if err != nil {
		return err
	}
	for i := range 200 {
		message := fmt.Append(nil, "message ", i)
		if err := s.Send(message); err != nil {
			return err
		}
		if got, err := s.Recv(); err != nil || !bytes.Equal(got, message) {
			return fmt.Errorf("got %q, %w, want %q", got, err, message)
		}
	}
	return errors.Join(s.CloseSend(), wantEnd(s))
}

func echoOnce(ctx context.Context, c call.Conn, size int, compression string) error {
	message := make([]byte, size)
	_, _ = rand.Read(message[:size/2])
	h := &call.Head{Method: echoUnary, Content: "application/protobuf", Compression: compression}
	h.Metadata.Add("x-client", fmt.Sprint("size ", size))
	var resp call.Response
	defer resp.Release()
	if err := c.Call(ctx, h, message, &resp); err != nil {
		return err
	}
	if !bytes.Equal(resp.Data, message) || resp.Trailer.Get("x-seen") != fmt.Sprint("size ", size) {
		return fmt.Errorf("%d bytes came back, or others, with the trailer %q", len(resp.Data), resp.Trailer)
	}
	return nil
}
