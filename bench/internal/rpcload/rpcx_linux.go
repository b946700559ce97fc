package rpcload

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/smallnest/rpcx/client"
	rpcxlog "github.com/smallnest/rpcx/log"
	"github.com/smallnest/rpcx/protocol"
	"github.com/smallnest/rpcx/server"

	"example.com/ferry/bench/internal/harness"
)

// RPCX is the row of github.com/smallnest/rpcx.
const RPCX = "rpcx"

func rpcxSystem() System {
	return System{Name: RPCX, Version: "v1.9.4", Kind: harness.Peer, Serve: serveRPCX, Dial: dialRPCX}
}

func serveRPCX(_ context.Context, _ Spec) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	rpcxlog.SetDummyLogger()
	srv := server.NewServer()
	srv.DisableHTTPGateway, srv.DisableJSONRPC = true, true
	srv.AddHandler(service, say, func(ctx *server.Context) error {
		in := new(Message)
		if err := ctx.Bind(in); err != nil {
			return err
		}
		return ctx.Write(respond(in))
	})
	go func() { _ = srv.ServeListener("tcp", l) }()
	return l.Addr().String(), nil
}

type rpcxClient struct {
	conns    []*client.Client
	messages []*Message
}

func dialRPCX(_ context.Context, s Spec) (Client, error) {
	c := &rpcxClient{messages: messages(s)}
	for range s.Conns {
		option := client.DefaultOption
		option.SerializeType, option.ConnectTimeout = protocol.ProtoBuffer, 5*time.Second
		conn := client.NewClient(option)
		if err := conn.Connect("tcp", s.Addr); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

func (c *rpcxClient) Call(worker int) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	out := new(Message)
	if err := c.conns[worker%len(c.conns)].Call(ctx, service, say, c.messages[worker], out); err != nil {
		return err
	}
	return verify(out)
}

func (c *rpcxClient) Close() (err error) {
	for _, conn := range c.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}
