package native_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/call/calltest"
	"example.com/ferry/rpc/native"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/quic"
	"example.com/ferry/transport/tcp"
)

// overStreams is a Protocol whose servers and callers are both clients of a node, on connections that also carry messages.
type overStreams struct{ throughNode }

func (p overStreams) Dial(ctx context.Context, t transport.Transport, addr string) (call.Conn, error) {
	client, err := stream.Dial(ctx, t, addr, &stream.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	over, err := p.Over(client)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	c, err := over.Dial(ctx, nil, "")
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return ownedConn{c, c.(call.Numbered), client}, nil
}

// ownedConn closes the client with the calls.
type ownedConn struct {
	call.Conn
	call.Numbered
	client *stream.Client
}

func (c ownedConn) Close(ctx context.Context) error {
	return errors.Join(c.Conn.Close(ctx), c.client.Close())
}

// TestOver runs the contract of a protocol for calls on a stream.Client's own connection.
func TestOver(t *testing.T) {
	server, client, _ := identity(t)
	for _, s := range []calltest.Subject{
		{Transport: tcp.New(nil)},
		{Transport: quic.New(&quic.Config{ServerTLS: server, ClientTLS: client})},
	} {
		t.Run(s.Transport.Scheme(), func(t *testing.T) {
			s.Protocol = overStreams{throughNode{native.Protocol{}}}
			calltest.Run(t, s)
		})
	}
}
