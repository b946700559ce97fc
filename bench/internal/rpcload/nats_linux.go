package rpcload

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/natsnode"
	"example.com/ferry/internal/load/echo"
)

// The rows of NATS. Both are requests and responses as messages; micro adds counters, and subjects for discovery.
const (
	NATS      = "NATS, request and reply"
	NATSMicro = "NATS, package micro"
)

const natsVersion = natsnode.Version + ", nats.go v" + nats.Version

// natsSystem returns a row of NATS. subscribe makes the handler respond on a connection.
func natsSystem(name string, subscribe func(conn *nats.Conn, respond func([]byte) []byte) error) System {
	return System{
		Name: name, Version: natsVersion, Kind: harness.Peer,
		Node: func(context.Context, Spec) (string, error) { return natsnode.Start("127.0.0.1:0") },
		Serve: func(_ context.Context, s Spec) (string, error) {
			conn, err := natsConnect(s)
			if err != nil {
				return "", err
			}
			k := echo.RawOf(s.size())
			if err := subscribe(conn, func(request []byte) []byte { return *k.Respond(&request) }); err != nil {
				return "", err
			}
			return "", conn.Flush()
		},
		Dial: func(ctx context.Context, s Spec) (Client, error) {
			conn, err := natsConnect(s)
			if err != nil {
				return nil, err
			}
			k := echo.RawOf(s.size())
			c := &natsClient{conn: conn, kind: k, requests: requests(k, s)}
			return c, untilServed(ctx, c)
		},
	}
}

func natsConnect(s Spec) (*nats.Conn, error) {
	return nats.Connect("nats://"+s.Node, nats.NoReconnect(), nats.Name(s.Role), nats.Timeout(patience))
}

// natsCore subscribes in a queue group, as servers do that share requests.
func natsCore(conn *nats.Conn, respond func([]byte) []byte) error {
	_, err := conn.QueueSubscribe(method, service, func(m *nats.Msg) { _ = m.Respond(respond(m.Data)) })
	return err
}

func natsService(conn *nats.Conn, respond func([]byte) []byte) error {
	_, err := micro.AddService(conn, micro.Config{Name: "bench", Version: "1.0.0", Endpoint: &micro.EndpointConfig{
		Subject: method,
		Handler: micro.HandlerFunc(func(r micro.Request) { _ = r.Respond(respond(r.Data())) }),
	}})
	return err
}

type natsClient struct {
	conn     *nats.Conn
	kind     kind[[]byte]
	requests []*[]byte
}

func (c *natsClient) Call(worker int) error {
	m, err := c.conn.Request(method, *c.requests[worker], callTime)
	if err != nil {
		return err
	}
	return c.kind.Verify(&m.Data)
}

func (c *natsClient) Close() error {
	c.conn.Close()
	return nil
}

// untilServed makes calls until one succeeds: a node may not know the server yet. It closes c if ctx ends before.
func untilServed(ctx context.Context, c Client) error {
	for {
		err := c.Call(0)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			_ = c.Close()
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}
