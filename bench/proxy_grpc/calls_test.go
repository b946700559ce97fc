package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/ferry/proxy"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// echoService returns messages. A call whose message is fail and a byte ends with the status of that byte.
var echoService = grpc.ServiceDesc{
	ServiceName: "test.Echo", HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Unary", Handler: echoUnary}},
	Streams: []grpc.StreamDesc{{StreamName: "Bidi", Handler: echoStream, ServerStreams: true, ClientStreams: true}},
}

func echoUnary(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	in := new(wrapperspb.BytesValue)
	if err := decode(in); err != nil {
		return nil, err
	}
	if code, fails := strings.CutPrefix(string(in.Value), "fail"); fails {
		return nil, status.Error(codes.Code(code[0]), "as asked: é%")
	}
	return in, grpc.SetTrailer(ctx, metadata.Pairs("x-trailer-bin", "\x00\x01"))
}

func echoStream(_ any, s grpc.ServerStream) error {
	for {
		in := new(wrapperspb.BytesValue)
		if err := s.RecvMsg(in); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := s.SendMsg(in); err != nil {
			return err
		}
	}
}

// TestCalls makes calls with grpc-go at both ends of the proxy: every status, a large message, and streams in both directions.
func TestCalls(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	server.RegisterService(&echoService, nil)
	go func() { _ = server.Serve(ln) }()
	t.Cleanup(server.Stop)
	p, err := proxy.New(&proxy.Config{
		Loops:     2,
		Listeners: []proxy.Listener{{Address: "127.0.0.1:0", Protocol: proxy.HTTP2, Cluster: "calls"}},
		Clusters:  []upstream.Config{{Name: "calls", Protocol: upstream.HTTP2, Endpoints: []upstream.EndpointConfig{{Address: ln.Addr().String()}}}},
	}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	client, err := grpc.NewClient(strings.TrimPrefix(p.Addresses()[0], "http2://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	call := func(message string, opts ...grpc.CallOption) (string, error) {
		out := new(wrapperspb.BytesValue)
		err := client.Invoke(ctx, "/test.Echo/Unary", wrapperspb.Bytes([]byte(message)), out, opts...)
		return string(out.Value), err
	}

	var trailer metadata.MD
	large := strings.Repeat("0123456789", 300_000)
	if got, err := call(large, grpc.Trailer(&trailer)); err != nil || got != large || strings.Join(trailer["x-trailer-bin"], "") != "\x00\x01" {
		t.Errorf("%d bytes of %d, trailer %v, %v", len(got), len(large), trailer, err)
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		_, err := call("fail" + string(rune(code)))
		if s := status.Convert(err); s.Code() != code || s.Message() != "as asked: é%" {
			t.Errorf("status %v arrives as %v %q", code, s.Code(), s.Message())
		}
	}
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			s, err := client.NewStream(ctx, &echoService.Streams[0], "/test.Echo/Bidi")
			if err != nil {
				t.Error(err)
				return
			}
			for j := range 20 {
				message := fmt.Sprintf("%d-%d-", i, j) + large[:j*1000]
				if err := s.SendMsg(wrapperspb.Bytes([]byte(message))); err != nil {
					t.Error(err)
					return
				}
				out := new(wrapperspb.BytesValue)
				if err := s.RecvMsg(out); err != nil || string(out.Value) != message {
					t.Errorf("stream %d, message %d: %d bytes, %v", i, j, len(out.Value), err)
					return
				}
			}
			if err := errors.Join(s.CloseSend(), s.RecvMsg(new(wrapperspb.BytesValue))); !errors.Is(err, io.EOF) {
				t.Errorf("the end of stream %d: %v", i, err)
			}
		})
	}
	all.Wait()
	counted := p.Snapshot().Traffic.Routes[0].Requests
	if counted[traffic.GRPC(0)] != 101 || counted[traffic.GRPC(16)] != 1 {
		t.Errorf("counted %v, want 101 successful calls, and one of each other status", counted)
	}
}
