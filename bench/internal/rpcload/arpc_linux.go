package rpcload

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/lesismal/arpc"
	"github.com/lesismal/arpc/codec"
	arpclog "github.com/lesismal/arpc/log"
	"google.golang.org/protobuf/proto"

	"example.com/ferry/bench/internal/harness"
)

// Arpc is the row of github.com/lesismal/arpc.
const Arpc = "arpc"

func arpcSystem[T any](name string, c codec.Codec, k kind[T]) System {
	return System{
		Name: name, Version: "v1.2.17", Kind: harness.Peer,
		Serve: func(context.Context, Spec) (string, error) { return serveArpc(c, k) },
		Dial:  func(_ context.Context, s Spec) (Client, error) { return dialArpc(s, c, k) },
	}
}

// protoCodec encodes messages for systems that take a codec.
type protoCodec struct{}

func (protoCodec) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("rpcload: %T is no message", v)
	}
	return proto.Marshal(m)
}

func (protoCodec) Unmarshal(data []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("rpcload: %T is no message", v)
	}
	return proto.Unmarshal(data, m)
}

func serveArpc[T any](c codec.Codec, k kind[T]) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	arpclog.SetLevel(arpclog.LevelNone)
	srv := arpc.NewServer()
	srv.Codec = c
	srv.Handler.Handle(method, func(ctx *arpc.Context) {
		in := new(T)
		if err := ctx.Bind(in); err != nil {
			_ = ctx.Error(err)
			return
		}
		_ = ctx.Write(k.Respond(in))
	}, true) // true: on a goroutine for each call, as in all other rows
	go func() { _ = srv.Serve(l) }()
	return l.Addr().String(), nil
}

type arpcClient[T any] struct {
	conns    []*arpc.Client
	kind     kind[T]
	requests []*T
}

func dialArpc[T any](s Spec, codec codec.Codec, k kind[T]) (Client, error) {
	arpclog.SetLevel(arpclog.LevelNone)
	c := &arpcClient[T]{kind: k, requests: requests(k, s)}
	for range s.Conns {
		conn, err := arpc.NewClient(func() (net.Conn, error) { return net.Dial("tcp", s.Addr) })
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		conn.Codec = codec
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

func (c *arpcClient[T]) Call(worker int) error {
	out := new(T)
	if err := c.conns[worker%len(c.conns)].Call(method, c.requests[worker], out, callTime); err != nil {
		return err
	}
	return c.kind.Verify(out)
}

func (c *arpcClient[T]) Close() error {
	for _, conn := range c.conns {
		conn.Stop()
	}
	return nil
}
