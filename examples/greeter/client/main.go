// Command client calls the greeter over each of its protocols.
//
//	go run ./examples/greeter &
//	go run ./examples/greeter/client Bo
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"example.com/ferry/codec/json"
	"example.com/ferry/codec/protobuf"
	"example.com/ferry/examples/greeter/greeterpb"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/rpc/native"
)

func main() {
	nativeAddr := flag.String("native", "127.0.0.1:9101", "`address` of the server's own protocol")
	grpcAddr := flag.String("grpc", "127.0.0.1:9102", "`address` of gRPC")
	httpAddr := flag.String("http", "127.0.0.1:9103", "`address` of JSON-RPC over HTTP")
	flag.Parse()
	name := "world"
	if flag.NArg() > 0 {
		name = flag.Arg(0)
	}
	if err := greet(os.Stdout, name, "tcp://"+*nativeAddr, "tcp://"+*grpcAddr, "tcp://"+*httpAddr); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

// greet calls the method over ferry's own protocol, gRPC and JSON-RPC, and prints the messages.
func greet(w io.Writer, name, nativeTarget, grpcTarget, httpTarget string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	inProtobuf := []envelope.Content{{Type: "application/protobuf", Codec: protobuf.Codec{}}}
	inJSON := []envelope.Content{{Type: "application/json", Codec: json.Codec{}}}
	for _, server := range []struct {
		target   string
		protocol call.Protocol
		contents []envelope.Content
	}{
		{nativeTarget, native.Protocol{}, inProtobuf},
		{grpcTarget, grpc.Protocol{}, inProtobuf},
		{httpTarget, jsonrpc.Protocol{}, inJSON},
	} {
		c, err := rpc.Dial(ctx, server.target, &rpc.ClientConfig{Protocol: server.protocol, Contents: server.contents})
		if err != nil {
			return err
		}
		out, err := rpc.Call[greeterpb.HelloReply](ctx, c, "greeter.Greeter.Hello", &greeterpb.HelloRequest{Name: name})
		c.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %s\n", server.protocol.Name(), out.GetMessage())
	}
	return nil
}
