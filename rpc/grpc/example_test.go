package grpc_test

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/ferry/codec/protobuf"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/grpc/reflection"
	"example.com/ferry/transport/tcp"
)

// A server of gRPC that tools such as grpcurl can describe, and a call to it.
func Example() {
	ctx := context.Background()
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: []envelope.Content{{Type: "application/protobuf", Codec: protobuf.Codec{}}}})
	rpc.Handle(srv, "greeter.Greeter.Hello", func(_ context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
		return wrapperspb.String("Hello, " + in.Value), nil
	})
	p := grpc.Protocol{Config: &grpc.Config{Services: []call.Service{reflection.New(srv)}}}
	l, err := srv.Listen(ctx, p, tcp.New(nil), "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()

	c, err := grpc.Protocol{}.Dial(ctx, tcp.New(nil), l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close(ctx)
	request, _ := protobuf.Codec{}.Marshal(wrapperspb.String("Bo"))
	var resp call.Response
	if err := c.Call(ctx, &call.Head{Method: "greeter.Greeter.Hello", Content: "application/protobuf"}, request, &resp); err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Release()
	var out wrapperspb.StringValue
	_ = protobuf.Codec{}.Unmarshal(resp.Data, &out)
	fmt.Println(out.Value)
	// Output: Hello, Bo
}
