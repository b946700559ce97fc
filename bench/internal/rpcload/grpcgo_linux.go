package rpcload

import (
	"context"
	"encoding/json"
	"errors"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"

	"example.com/ferry/bench/internal/harness"
)

// GRPCGo is the row of google.golang.org/grpc.
const GRPCGo = "grpc-go"

// grpcGo returns the row of a kind of messages. codec is nil for protobuf.
func grpcGo[T any](name string, k kind[T], codec ...encoding.Codec) System {
	var server []grpc.ServerOption
	client := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	for _, c := range codec {
		server = append(server, grpc.ForceServerCodec(c))
		client = append(client, grpc.WithDefaultCallOptions(grpc.ForceCodec(c)))
	}
	return System{
		Name: name, Version: "v" + grpc.Version, Kind: harness.Peer,
		Serve: func(context.Context, Spec) (string, error) { return serveGRPCGo(k, server) },
		Dial:  func(_ context.Context, s Spec) (Client, error) { return dialGRPCGo(s, k, client) },
	}
}

// jsonCodec encodes the messages of application/grpc+json.
type jsonCodec struct{}

func (jsonCodec) Marshal(v any) ([]byte, error) { return json.Marshal(v) }

func (jsonCodec) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

func (jsonCodec) Name() string { return "json" }

func serveGRPCGo[T any](k kind[T], options []grpc.ServerOption) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	srv := grpc.NewServer(options...)
	registerGRPCGo(srv, func(_ context.Context, in *T) (*T, error) { return k.Respond(in), nil })
	go func() { _ = srv.Serve(l) }()
	return l.Addr().String(), nil
}

// registerGRPCGo registers the handler of the method.
func registerGRPCGo[T any](srv *grpc.Server, handle func(context.Context, *T) (*T, error)) {
	srv.RegisterService(&grpc.ServiceDesc{
		ServiceName: service, HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: say, Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(T)
			if err := decode(in); err != nil {
				return nil, err
			}
			return handle(ctx, in)
		}}},
	}, nil)
}

type grpcGoClient[T any] struct {
	conns    []*grpc.ClientConn
	kind     kind[T]
	requests []*T
}

func dialGRPCGo[T any](s Spec, k kind[T], options []grpc.DialOption) (Client, error) {
	c := &grpcGoClient[T]{kind: k, requests: requests(k, s)}
	for range s.Conns {
		conn, err := grpc.NewClient("passthrough:///"+s.Addr, options...)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

func (c *grpcGoClient[T]) Call(worker int) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	out := new(T)
	if err := c.conns[worker%len(c.conns)].Invoke(ctx, "/"+service+"/"+say, c.requests[worker], out); err != nil {
		return err
	}
	return c.kind.Verify(out)
}

func (c *grpcGoClient[T]) Close() (err error) {
	for _, conn := range c.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}
