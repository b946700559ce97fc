package rpcload

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/klog"
	"github.com/cloudwego/kitex/pkg/serviceinfo"
	"github.com/cloudwego/kitex/server"
	"google.golang.org/protobuf/proto"

	"example.com/ferry/bench/internal/harness"
)

// Kitex is the row of github.com/cloudwego/kitex, several calls on a connection.
const Kitex = "kitex"

func kitexSystem() System {
	return System{Name: Kitex, Version: "v0.16.3", Kind: harness.Peer, Serve: serveKitex, Dial: dialKitex}
}

// kitexMessage is the arguments or the result of the method, with the methods that generated code has.
type kitexMessage struct{ message *Message }

// Marshal appends the message to out.
func (m *kitexMessage) Marshal(out []byte) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(out, m.message)
}

// Unmarshal replaces the message.
func (m *kitexMessage) Unmarshal(in []byte) error {
	m.message = new(Message)
	return proto.Unmarshal(in, m.message)
}

// GetResult returns the message, as kitex's results do.
func (m *kitexMessage) GetResult() any { return m.message }

func kitexService() *serviceinfo.ServiceInfo {
	newMessage := func() any { return new(kitexMessage) }
	handle := func(_ context.Context, _, in, out any) error {
		request, ok := in.(*kitexMessage)
		response, isMessage := out.(*kitexMessage)
		if !ok || !isMessage {
			return fmt.Errorf("rpcload: a request of type %T and a response of type %T", in, out)
		}
		response.message = respond(request.message)
		return nil
	}
	return &serviceinfo.ServiceInfo{
		ServiceName: service, PayloadCodec: serviceinfo.Protobuf, HandlerType: (*any)(nil),
		Methods: map[string]serviceinfo.MethodInfo{say: serviceinfo.NewMethodInfo(handle, newMessage, newMessage, false)},
		Extra:   map[string]any{"PackageName": "bench"},
	}
}

func serveKitex(_ context.Context, _ Spec) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	klog.SetLevel(klog.LevelFatal)
	srv := server.NewServer(server.WithListener(l), server.WithMuxTransport())
	if err := srv.RegisterService(kitexService(), new(struct{})); err != nil {
		return "", err
	}
	go func() { _ = srv.Run() }()
	return l.Addr().String(), nil
}

type kitexClient struct {
	client   client.Client
	messages []*Message
}

func dialKitex(_ context.Context, s Spec) (Client, error) {
	klog.SetLevel(klog.LevelFatal)
	c, err := client.NewClient(kitexService(), client.WithDestService(service), client.WithHostPorts(s.Addr), client.WithMuxConnection(s.Conns), client.WithRPCTimeout(callTime))
	if err != nil {
		return nil, err
	}
	return &kitexClient{c, messages(s)}, nil
}

func (c *kitexClient) Call(worker int) error {
	var out kitexMessage
	if err := c.client.Call(context.Background(), say, &kitexMessage{c.messages[worker]}, &out); err != nil {
		return err
	}
	if out.message == nil {
		return errors.New("rpcload: no response")
	}
	return verify(out.message)
}

func (*kitexClient) Close() error { return nil }
