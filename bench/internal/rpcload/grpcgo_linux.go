package rpcload

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"example.com/ferry/bench/internal/harness"
)

// GRPCGo is the row of google.golang.org/grpc.
const GRPCGo = "grpc-go"

func grpcGo() System {
	return System{Name: GRPCGo, Version: "v" + grpc.Version, Kind: harness.Peer, Serve: serveGRPCGo, Dial: dialGRPCGo}
}

// echoService describes the service as generated code does.
var echoService = grpc.ServiceDesc{
	ServiceName: service, HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: say, Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		in := new(Message)
		if err := decode(in); err != nil {
			return nil, err
		}
		return respond(in), nil
	}}},
}

func serveGRPCGo(_ context.Context, _ Spec) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	srv := grpc.NewServer()
	srv.RegisterService(&echoService, nil)
	go func() { _ = srv.Serve(l) }()
	return l.Addr().String(), nil
}

type grpcGoClient struct {
	conns    []*grpc.ClientConn
	messages []*Message
}

func dialGRPCGo(_ context.Context, s Spec) (Client, error) {
	c := &grpcGoClient{messages: messages(s)}
	for range s.Conns {
		conn, err := grpc.NewClient("passthrough:///"+s.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

func (c *grpcGoClient) Call(worker int) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	out := new(Message)
	if err := c.conns[worker%len(c.conns)].Invoke(ctx, "/"+service+"/"+say, c.messages[worker], out); err != nil {
		return err
	}
	return verify(out)
}

func (c *grpcGoClient) Close() (err error) {
	for _, conn := range c.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}
