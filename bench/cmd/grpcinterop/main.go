// Grpcinterop is ferry's side of gRPC's interoperability tests, for the tests of rpc/grpc, whose module does not link the messages of
// grpc.testing. The other side is the client or the server of grpc-go, unmodified.
//
//	grpcinterop serve HOST:PORT [CERTIFICATE KEY]    // prints "ready" and the address
//	grpcinterop call HOST:PORT [CA]                  // prints "passed" and the number of cases
//	grpcinterop echo HOST:PORT                       // calls a server of bench/cmd/grpcpeer, and prints "passed"
//
// With files of certificates and keys both use TLS.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/grpc/reflection"
	"example.com/ferry/transport"
	"example.com/ferry/transport/tcp"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "grpcinterop:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	switch {
	case len(args) == 2 && args[0] == "serve":
		return serve(ctx, tcp.New(nil), args[1])
	case len(args) == 4 && args[0] == "serve":
		cert, err := tls.LoadX509KeyPair(args[2], args[3])
		if err != nil {
			return err
		}
		return serve(ctx, tcp.NewTLS(&tcp.Config{ServerTLS: &tls.Config{Certificates: []tls.Certificate{cert}}}), args[1])
	case len(args) == 2 && args[0] == "call":
		return callAll(ctx, tcp.New(nil), args[1])
	case len(args) == 2 && args[0] == "echo":
		return echoAll(ctx, tcp.New(nil), args[1])
	case len(args) == 3 && args[0] == "call":
		trusted := x509.NewCertPool()
		pem, err := os.ReadFile(args[2])
		if err != nil {
			return err
		}
		if !trusted.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s has no certificate", args[2])
		}
		return callAll(ctx, tcp.NewTLS(&tcp.Config{ClientTLS: &tls.Config{RootCAs: trusted}}), args[1])
	}
	return errors.New("write serve HOST:PORT [CERTIFICATE KEY], call HOST:PORT [CA], or echo HOST:PORT")
}

// serve serves until a signal, and lets the calls in progress end.
func serve(ctx context.Context, t transport.Transport, addr string) error {
	greeter := newGreeter()
	p := grpc.Protocol{Config: &grpc.Config{MaxMessage: maxMessage, Services: []call.Service{testService, reflection.New(greeter)}}}
	l, err := greeter.Listen(ctx, p, t, addr)
	if err != nil {
		return err
	}
	fmt.Println("ready", l.Addr())
	<-ctx.Done()
	drain, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return l.Drain(drain)
}

// callAll makes the calls of all cases on one connection.
func callAll(ctx context.Context, t transport.Transport, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := grpc.Protocol{}.Dial(ctx, t, addr)
	if err != nil {
		return err
	}
	for _, c := range cases {
		if err := c.run(ctx, conn); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	if err := conn.Close(ctx); err != nil {
		return err
	}
	fmt.Println("passed", len(cases))
	return nil
}

// echoAll calls a server of interop.Echo.
func echoAll(ctx context.Context, t transport.Transport, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := grpc.Protocol{Config: &grpc.Config{MaxMessage: maxMessage}}.Dial(ctx, t, addr)
	if err != nil {
		return err
	}
	if err := callEcho(ctx, conn); err != nil {
		return err
	}
	fmt.Println("passed")
	return conn.Close(ctx)
}
