package rpcload

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/lesismal/arpc"
	arpclog "github.com/lesismal/arpc/log"
	"google.golang.org/protobuf/proto"

	"example.com/ferry/bench/internal/harness"
)

// Arpc is the row of github.com/lesismal/arpc.
const Arpc = "arpc"

func arpcSystem() System {
	return System{Name: Arpc, Version: "v1.2.17", Kind: harness.Peer, Serve: serveArpc, Dial: dialArpc}
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

func serveArpc(_ context.Context, _ Spec) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	arpclog.SetLevel(arpclog.LevelNone)
	srv := arpc.NewServer()
	srv.Codec = protoCodec{}
	srv.Handler.Handle(method, func(ctx *arpc.Context) {
		in := new(Message)
		if err := ctx.Bind(in); err != nil {
			_ = ctx.Error(err)
			return
		}
		_ = ctx.Write(respond(in))
	}, true) // true: on a goroutine for each call, as in all other rows
	go func() { _ = srv.Serve(l) }()
	return l.Addr().String(), nil
}

type arpcClient struct {
	conns    []*arpc.Client
	messages []*Message
}

func dialArpc(_ context.Context, s Spec) (Client, error) {
	arpclog.SetLevel(arpclog.LevelNone)
	c := &arpcClient{messages: messages(s)}
	for range s.Conns {
		conn, err := arpc.NewClient(func() (net.Conn, error) { return net.Dial("tcp", s.Addr) })
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		conn.Codec = protoCodec{}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

func (c *arpcClient) Call(worker int) error {
	out := new(Message)
	if err := c.conns[worker%len(c.conns)].Call(method, c.messages[worker], out, callTime); err != nil {
		return err
	}
	return verify(out)
}

func (c *arpcClient) Close() error {
	for _, conn := range c.conns {
		conn.Stop()
	}
	return nil
}
