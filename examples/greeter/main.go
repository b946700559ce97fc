// Command greeter is a server of one method, over three protocols at once: ferry's own, gRPC with reflection, and JSON-RPC 2.0 over
// HTTP. It stops when it is interrupted, after the calls that are in progress.
//
//	go run ./examples/greeter
//	ferry call tcp://127.0.0.1:9101 greeter.Greeter.Hello '{"name":"Bo"}'
//	ferry call grpc://127.0.0.1:9102 greeter.Greeter.Hello '{"name":"Bo"}'
//	curl http://127.0.0.1:9103 -H 'content-type: application/json' -d '{"jsonrpc":"2.0","method":"Greeter.Hello","params":{"name":"Bo"},"id":1}'
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/ferry/examples/greeter/greeterpb"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/grpc/reflection"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport/tcp"
)

// drainTimeout bounds how long calls may take to end after an interrupt.
const drainTimeout = 10 * time.Second

func main() {
	nativeAddr := flag.String("native", "127.0.0.1:9101", "`address` of ferry's own protocol")
	grpcAddr := flag.String("grpc", "127.0.0.1:9102", "`address` of gRPC")
	httpAddr := flag.String("http", "127.0.0.1:9103", "`address` of JSON-RPC over HTTP")
	flag.Parse()
	if err := serve(*nativeAddr, *grpcAddr, *httpAddr); err != nil {
		fmt.Fprintln(os.Stderr, "greeter:", err)
		os.Exit(1)
	}
}

// hello handles greeter.Greeter.Hello.
func hello(_ context.Context, in *greeterpb.HelloRequest) (*greeterpb.HelloReply, error) {
	return &greeterpb.HelloReply{Message: "Hello, " + in.GetName()}, nil
}

// serve runs the server until an interrupt. It prints a line for each address.
func serve(nativeAddr, grpcAddr, httpAddr string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: content.All()})
	rpc.Handle(srv, "greeter.Greeter.Hello", hello)
	defer srv.Close()
	for _, l := range []struct {
		protocol call.Protocol
		addr     string
	}{
		{native.Protocol{}, nativeAddr},
		{grpc.Protocol{Config: &grpc.Config{Services: []call.Service{reflection.New(srv)}}}, grpcAddr},
		{jsonrpc.Protocol{}, httpAddr},
	} {
		listener, err := srv.Listen(ctx, l.protocol, tcp.New(nil), l.addr)
		if err != nil {
			return err
		}
		fmt.Printf("%s on %s\n", l.protocol.Name(), listener.Addr())
	}
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	return srv.Drain(ctx)
}
