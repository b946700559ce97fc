package rpcload

import (
	"context"
	"errors"
	"fmt"
	"net"

	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"

	"example.com/ferry/bench/internal/harness"
)

// DRPC is the row of storj.io/drpc. A connection carries one call at a time, so each worker has its own.
const DRPC = "drpc"

func drpcSystem() System {
	return System{Name: DRPC, Version: "v1.0.0", Kind: harness.Peer, Serve: serveDRPC, Dial: dialDRPC}
}

// drpcEcho describes the service as generated code does.
type drpcEcho struct{}

func (drpcEcho) NumMethods() int { return 1 }

func (drpcEcho) Method(n int) (string, drpc.Encoding, drpc.Receiver, any, bool) {
	return method, drpcCodec{}, func(_ any, _ context.Context, in, _ any) (drpc.Message, error) {
		m, ok := in.(*Message)
		if !ok {
			return nil, fmt.Errorf("rpcload: a request of type %T", in)
		}
		return respond(m), nil
	}, (*drpcServer).Say, n == 0
}

// drpcServer has the method whose types drpc reads.
type drpcServer struct{}

// Say responds to a request.
func (*drpcServer) Say(_ context.Context, in *Message) (*Message, error) { return respond(in), nil }

// drpcCodec is protoCodec with drpc's types.
type drpcCodec struct{ protoCodec }

func (c drpcCodec) Marshal(m drpc.Message) ([]byte, error) { return c.protoCodec.Marshal(m) }

func (c drpcCodec) Unmarshal(data []byte, m drpc.Message) error {
	return c.protoCodec.Unmarshal(data, m)
}

func serveDRPC(ctx context.Context, _ Spec) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	mux := drpcmux.New()
	if err := mux.Register(new(drpcServer), drpcEcho{}); err != nil {
		return "", err
	}
	go func() { _ = drpcserver.New(mux).Serve(ctx, l) }()
	return l.Addr().String(), nil
}

type drpcClient struct {
	conns    []*drpcconn.Conn
	messages []*Message
}

func dialDRPC(_ context.Context, s Spec) (Client, error) {
	c := &drpcClient{messages: messages(s)}
	for range s.Workers {
		conn, err := net.Dial("tcp", s.Addr)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.conns = append(c.conns, drpcconn.New(conn))
	}
	return c, nil
}

func (c *drpcClient) Call(worker int) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	out := new(Message)
	if err := c.conns[worker].Invoke(ctx, method, drpcCodec{}, c.messages[worker], out); err != nil {
		return err
	}
	return verify(out)
}

func (c *drpcClient) Close() (err error) {
	for _, conn := range c.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}
