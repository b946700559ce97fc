package rpcload

import (
	"context"
	"errors"
	"io"
	"net"
	netrpc "net/rpc"

	"example.com/ferry/bench/internal/harness"
)

// NetRPC is the row of net/rpc as it is.
const NetRPC = "net/rpc, gob"

// netRPCCodec makes the codecs of net/rpc for a connection. Nil functions stand for its own, gob.
type netRPCCodec struct {
	server func(io.ReadWriteCloser) netrpc.ServerCodec
	client func(io.ReadWriteCloser) netrpc.ClientCodec
}

func netRPC[T any](name, version string, codec netRPCCodec, k kind[T]) System {
	return System{
		Name: name, Version: version, Kind: harness.Peer,
		Serve: func(context.Context, Spec) (string, error) { return serveNetRPC(codec, k) },
		Dial:  func(_ context.Context, s Spec) (Client, error) { return dialNetRPC(s, codec, k) },
	}
}

// Echo is the service of net/rpc, which finds its methods by their types.
type Echo[T any] struct{ kind kind[T] }

// Say responds to a request.
func (e Echo[T]) Say(in *T, out **T) error {
	*out = e.kind.Respond(in)
	return nil
}

func serveNetRPC[T any](codec netRPCCodec, k kind[T]) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	srv := netrpc.NewServer()
	if err := srv.RegisterName("Echo", Echo[T]{k}); err != nil {
		return "", err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if codec.server == nil {
				go srv.ServeConn(conn)
			} else {
				go srv.ServeCodec(codec.server(conn))
			}
		}
	}()
	return l.Addr().String(), nil
}

type netRPCClient[T any] struct {
	conns    []*netrpc.Client
	kind     kind[T]
	requests []*T
}

func dialNetRPC[T any](s Spec, codec netRPCCodec, k kind[T]) (Client, error) {
	c := &netRPCClient[T]{kind: k, requests: requests(k, s)}
	for range s.Conns {
		conn, err := net.Dial("tcp", s.Addr)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		if codec.client == nil {
			c.conns = append(c.conns, netrpc.NewClient(conn))
		} else {
			c.conns = append(c.conns, netrpc.NewClientWithCodec(codec.client(conn)))
		}
	}
	return c, nil
}

func (c *netRPCClient[T]) Call(worker int) error {
	out := new(T)
	if err := c.conns[worker%len(c.conns)].Call("Echo.Say", c.requests[worker], out); err != nil {
		return err
	}
	return c.kind.Verify(out)
}

func (c *netRPCClient[T]) Close() (err error) {
	for _, conn := range c.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}
