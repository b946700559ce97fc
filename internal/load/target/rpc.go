package target

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/internal/load"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
	"example.com/ferry/transport"
)

// RPC is a server of any of the protocols of package rpc. The workers share connections.
type RPC struct {
	Protocol  call.Protocol
	Transport transport.Transport
	Addr      string
	Conns     int // connections; 0 means 4
	Method    string
	Content   envelope.Content // its Codec is not used
	Request   []byte           // encoded, without the envelope
	Metadata  call.Metadata
	Timeout   time.Duration // of a call; 0 means 10 s

	shares shares[call.Conn]
}

// Connect connects a worker.
func (t *RPC) Connect(ctx context.Context, worker int) (load.Client, error) {
	dial := func(ctx context.Context) (call.Conn, error) { return t.Protocol.Dial(ctx, t.Transport, t.Addr) }
	c := &rpcClient{target: t, share: t.shares.of(worker, t.Conns, dial)}
	c.head = call.Head{Method: t.Method, Content: t.Content.Type, Metadata: t.Metadata}
	if _, err := c.share.get(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

type rpcClient struct {
	target  *RPC
	share   *share[call.Conn]
	head    call.Head
	message []byte // the envelope
	once    sync.Once
}

// Close leaves the connection.
func (c *rpcClient) Close() { c.once.Do(c.share.leave) }

// Do makes a call.
func (c *rpcClient) Do(ctx context.Context) error {
	conn, err := c.share.get(ctx)
	if err != nil {
		return failed(err)
	}
	c.head.Deadline = time.Now().Add(timeoutOf(c.target.Timeout))
	message, env, id := c.target.Request, c.target.Content.Envelope, uint64(1)
	if env != nil {
		if numbered, ok := conn.(call.Numbered); ok {
			id = numbered.NextID()
			c.head.ID = id
		}
		if c.message, err = env.AppendRequest(c.message[:0], envelope.Request{Method: c.target.Method, ID: id, Body: message}); err != nil {
			return failed(err)
		}
		message = c.message
	}
	var resp call.Response
	if err := conn.Call(ctx, &c.head, message, &resp); err != nil {
		return callFailed(call.StatusOf(err), err)
	}
	defer resp.Release()
	if env == nil {
		return nil
	}
	out, err := env.ParseResponse(resp.Data)
	switch {
	case err != nil:
		return unexpected("bad envelope", balance.Failure, err)
	case out.Status != nil && out.Status.Code != call.OK:
		return unexpected(out.Status.Code.String(), balance.OfCode(uint32(out.Status.Code)), out.Status)
	case out.ID != id && out.ID != 0: // the envelope of gRPC has no id
		return unexpected("wrong id", balance.Failure, fmt.Errorf("the response in %s has id %d, want %d", c.target.Content.Type, out.ID, id))
	}
	return nil
}

// callFailed returns the *load.Failure of a call that has ended with a status.
func callFailed(s *call.Status, err error) error {
	o := balance.OfCode(uint32(s.Code))
	if s.Code == call.Unavailable || s.Code == call.DeadlineExceeded {
		return &load.Failure{Kind: s.Code.String(), Outcome: o, Err: err}
	}
	return unexpected(s.Code.String(), o, err)
}
