// Grpcpeer is a server or a client of grpc-go for the tests of proxy/interop and rpc/grpc/interop, whose module does not link gRPC.
//
//	grpcpeer serve HOST:PORT                 // prints "ready"
//	grpcpeer call HOST:PORT [CA-FILE]        // prints "passed" and the number of calls; with CA-FILE over TLS
//	grpcpeer gzip HOST:PORT                            // makes calls with compressed messages, and prints "passed"
//	grpcpeer describe HOST:PORT SERVICE METHOD JSON    // learns from the server what to send, and calls it
//
// The server has one service, and proxy/interop/testdata/grpc_peer.py has the same: Unary and Stream return each message. The
// metadata x-status is the status that a call ends with, and the trailer x-seen is the metadata x-client. With the environment variable
// FERRY_TOKEN, clients send it with each call.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	unary      = "/interop.Echo/Unary"
	stream     = "/interop.Echo/Stream"
	maxMessage = 16 << 20 // bytes
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "grpcpeer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "serve":
		return serve(args[1])
	case len(args) == 2 && args[0] == "call":
		return call(args[1], insecure.NewCredentials())
	case len(args) == 3 && args[0] == "call":
		trust, err := credentials.NewClientTLSFromFile(args[2], "")
		if err != nil {
			return err
		}
		return call(args[1], trust)
	}
	if len(args) == 2 && args[0] == "gzip" {
		return callCompressed(args[1])
	}
	if len(args) == 5 && args[0] == "describe" {
		return describe(args[1], args[2], args[3], args[4])
	}
	return errors.New("write serve HOST:PORT, call HOST:PORT [CA-FILE], gzip HOST:PORT, or describe HOST:PORT SERVICE METHOD JSON")
}

// serve serves until the process ends.
func serve(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}), grpc.MaxRecvMsgSize(maxMessage), grpc.UnknownServiceHandler(echo))
	fmt.Println("ready")
	return s.Serve(l)
}

// echo handles the calls of both methods: a unary call is a stream of one message.
func echo(_ any, s grpc.ServerStream) error {
	md, _ := metadata.FromIncomingContext(s.Context())
	s.SetTrailer(metadata.Pairs("x-seen", first(md, "x-client")))
	if text := first(md, "x-status"); text != "" {
		code, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return err
		}
		return status.Error(codes.Code(code), "as asked")
	}
	for {
		var message []byte
		if err := s.RecvMsg(&message); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.SendMsg(&message); err != nil {
			return err
		}
	}
}

func first(md metadata.MD, key string) string {
	if values := md.Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// call makes calls of each kind and checks their results.
func call(address string, trust credentials.TransportCredentials) error {
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(trust),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if token := os.Getenv("FERRY_TOKEN"); token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	calls := 0
	for _, size := range []int{0, 1, 1000, 5 << 20} {
		if err := callUnary(ctx, conn, size); err != nil {
			return fmt.Errorf("a unary call of %d bytes: %w", size, err)
		}
		calls++
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		ctx := metadata.AppendToOutgoingContext(ctx, "x-status", fmt.Sprint(uint32(code)))
		err := conn.Invoke(ctx, unary, &[]byte{}, &[]byte{})
		if s := status.Convert(err); s.Code() != code || s.Message() != "as asked" {
			return fmt.Errorf("status %d: got %w", code, err)
		}
		calls++
	}
	if err := callStream(ctx, conn); err != nil {
		return fmt.Errorf("a stream: %w", err)
	}
	if err := deadline(ctx, conn); err != nil {
		return fmt.Errorf("a stream with a deadline: %w", err)
	}
	calls += 2
	const parallel = 50
	var all sync.WaitGroup
	errs := make([]error, parallel)
	for i := range parallel {
		all.Go(func() { errs[i] = callUnary(ctx, conn, i*1009) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("calls in parallel: %w", err)
	}
	fmt.Println("passed", calls+parallel)
	return nil
}

// callCompressed makes calls whose messages are compressed in both directions.
func callCompressed(address string) error {
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.UseCompressor(gzip.Name)))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if token := os.Getenv("FERRY_TOKEN"); token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	for _, size := range []int{0, 1, 1000, 5 << 20} {
		if err := callUnary(ctx, conn, size); err != nil {
			return fmt.Errorf("a unary call of %d bytes: %w", size, err)
		}
	}
	if err := callStream(ctx, conn); err != nil {
		return fmt.Errorf("a stream: %w", err)
	}
	fmt.Println("passed")
	return nil
}

func callUnary(ctx context.Context, conn *grpc.ClientConn, size int) error {
	message := make([]byte, size)
	_, _ = rand.Read(message)
	var response []byte
	var trailer metadata.MD
	ctx = metadata.AppendToOutgoingContext(ctx, "x-client", fmt.Sprint("size ", size))
	if err := conn.Invoke(ctx, unary, &message, &response, grpc.Trailer(&trailer)); err != nil {
		return err
	}
	if !bytes.Equal(response, message) {
		return fmt.Errorf("%d bytes came back, or others", len(response))
	}
	if got := first(trailer, "x-seen"); got != fmt.Sprint("size ", size) {
		return fmt.Errorf("trailer x-seen is %q", got)
	}
	return nil
}

// callStream sends each message after the one before has come back.
func callStream(ctx context.Context, conn *grpc.ClientConn) error {
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, stream)
	if err != nil {
		return err
	}
	for i := range 200 {
		message := []byte(fmt.Sprint("message ", i))
		if err := s.SendMsg(&message); err != nil {
			return err
		}
		var got []byte
		if err := s.RecvMsg(&got); err != nil {
			return err
		}
		if !bytes.Equal(got, message) {
			return fmt.Errorf("got %q, want %q", got, message)
		}
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	if err := s.RecvMsg(&[]byte{}); !errors.Is(err, io.EOF) {
		return fmt.Errorf("at the end: %w", err)
	}
	return nil
}

// deadline lets the deadline of a stream pass. The server knows the deadline too. If it resets the stream first, the proxy reports
// UNAVAILABLE.
func deadline(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, stream)
	if err != nil {
		return err
	}
	err = s.RecvMsg(&[]byte{})
	if code := status.Code(err); code != codes.DeadlineExceeded && code != codes.Unavailable {
		return fmt.Errorf("got %w, want DeadlineExceeded or Unavailable", err)
	}
	return nil
}

// rawCodec sends *[]byte as it is.
type rawCodec struct{}

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("grpcpeer: a message of type %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*m)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("grpcpeer: a message of type %T", v)
	}
	*m = data.Materialize()
	return nil
}

func (rawCodec) Name() string { return "raw" }
