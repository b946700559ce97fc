package rpcload

import (
	"context"
	"net"
	"net/http"

	"connectrpc.com/connect"

	"example.com/ferry/bench/internal/harness"
)

// Connect is the row of connectrpc.com/connect over HTTP/1.1, in which it is faster than over HTTP/2.
const Connect = "connect, HTTP/1.1"

func connectSystem() System {
	return System{Name: Connect, Version: connect.Version, Kind: harness.Peer, Serve: serveConnect, Dial: dialConnect}
}

const connectPath = "/" + service + "/" + say

func serveConnect(_ context.Context, _ Spec) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	mux.Handle(connectPath, connect.NewUnaryHandler(connectPath, func(_ context.Context, in *connect.Request[Message]) (*connect.Response[Message], error) {
		return connect.NewResponse(respond(in.Msg)), nil
	}))
	go func() { _ = http.Serve(l, mux) }()
	return l.Addr().String(), nil
}

type connectClient struct {
	client   *connect.Client[Message, Message]
	idle     *http.Client
	messages []*Message
}

func dialConnect(_ context.Context, s Spec) (Client, error) {
	h := &http.Client{Transport: &http.Transport{MaxIdleConns: s.Workers, MaxIdleConnsPerHost: s.Workers}}
	plain := connect.WithAcceptCompression("gzip", nil, nil) // else responses are compressed, as in no other row
	return &connectClient{connect.NewClient[Message, Message](h, "http://"+s.Addr+connectPath, plain), h, messages(s)}, nil
}

func (c *connectClient) Call(worker int) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	out, err := c.client.CallUnary(ctx, connect.NewRequest(c.messages[worker]))
	if err != nil {
		return err
	}
	return verify(out.Msg)
}

func (c *connectClient) Close() error {
	c.idle.CloseIdleConnections()
	return nil
}
