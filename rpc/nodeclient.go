package rpc

import (
	"context"
	"errors"

	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
)

// DialNode returns a Client that calls what the other clients of a node serve, over client's own connection to the node. client is a
// *stream.Client, whose identity may call these services. It may serve calls at the same time (see Serve), and it reconnects by itself.
// One rpc.Client at a time uses a connection; its Close ends the calls and leaves the connection open.
//
// DialNode waits until client is connected, or returns an error when ctx ends. cfg has no Protocol, Transports and Sources; Conns and
// what concerns the choice between endpoints has no effect. The calls through a connection share its MaxMessage: that of the first
// Client.
func DialNode(ctx context.Context, client native.Caller, cfg *ClientConfig) (*Client, error) {
	var d ClientConfig
	if cfg != nil {
		d = *cfg
	}
	if d.Protocol != nil || d.Transports != nil || d.Sources != nil {
		return nil, errors.New("rpc: DialNode: ClientConfig has a Protocol, Transports or Sources: leave them out, or use Dial")
	}
	over, err := native.Protocol{MaxMessage: d.MaxMessage, Log: d.Log}.Over(client)
	if err != nil {
		return nil, err
	}
	d.Protocol, d.Transports, d.Conns = over, []transport.Transport{ownConnection{}}, 1
	c, err := Dial(ctx, ownConnection{}.Scheme()+"://connection", &d)
	if err != nil {
		over.Close()
		return nil, err
	}
	c.onClose = over.Close
	return c, nil
}

// ownConnection stands for the connection that native.Over uses.
type ownConnection struct{}

var _ transport.Transport = ownConnection{}

func (ownConnection) Scheme() string { return "node" }

func (ownConnection) Dial(context.Context, string) (transport.Conn, error) {
	return nil, errors.ErrUnsupported
}

func (ownConnection) Listen(context.Context, string) (transport.Listener, error) {
	return nil, errors.ErrUnsupported
}
