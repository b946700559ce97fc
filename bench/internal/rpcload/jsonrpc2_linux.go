package rpcload

import (
	"context"
	"encoding/json"
	"errors"
	"net"

	"github.com/sourcegraph/jsonrpc2"

	"example.com/ferry/bench/internal/harness"
)

func jsonRPC2(name string) System {
	return System{Name: name, Version: "v0.2.1", Kind: harness.Peer, Serve: serveJSONRPC2, Dial: dialJSONRPC2}
}

func serveJSONRPC2(ctx context.Context, _ Spec) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	handler := jsonrpc2.AsyncHandler(jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
		if r.Params == nil {
			return nil, errors.New("rpcload: a request without parameters")
		}
		in := new(Plain)
		if err := json.Unmarshal(*r.Params, in); err != nil {
			return nil, err
		}
		return plainKind.Respond(in), nil
	}))
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(conn), handler)
		}
	}()
	return l.Addr().String(), nil
}

type jsonRPC2Client struct {
	conns    []*jsonrpc2.Conn
	requests []*Plain
}

func dialJSONRPC2(_ context.Context, s Spec) (Client, error) {
	c := &jsonRPC2Client{requests: requests(plainKind, s)}
	for range s.Conns {
		conn, err := net.Dial("tcp", s.Addr)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		nothing := jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) {
			return nil, errors.New("rpcload: a client has no methods")
		})
		c.conns = append(c.conns, jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(conn), nothing))
	}
	return c, nil
}

func (c *jsonRPC2Client) Call(worker int) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	out := new(Plain)
	if err := c.conns[worker%len(c.conns)].Call(ctx, method, c.requests[worker], out); err != nil {
		return err
	}
	return plainKind.Verify(out)
}

func (c *jsonRPC2Client) Close() (err error) {
	for _, conn := range c.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}
