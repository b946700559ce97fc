package target

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/load"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
)

// Publish is a node. A request is a message that is published and confirmed: it ends when the node has routed the message. Each
// worker has a connection.
type Publish struct {
	Transport transport.Transport
	Addr      string
	Config    *stream.Config
	Tag       string
	Message   ferry.Message
	Timeout   time.Duration // of a message; 0 means 10 s
}

// Connect connects a worker.
func (t *Publish) Connect(ctx context.Context, _ int) (load.Client, error) {
	client, err := stream.Dial(ctx, t.Transport, t.Addr, t.Config)
	if err != nil {
		return nil, err
	}
	c := &publishClient{target: t, client: client}
	if c.source, err = client.Source(ctx, t.Tag); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

type publishClient struct {
	target *Publish
	client *stream.Client
	source *stream.Source
	once   sync.Once
}

// Close closes the connection.
func (c *publishClient) Close() { c.once.Do(func() { _ = c.client.Close() }) }

// Do publishes the message and waits until the node has routed it.
func (c *publishClient) Do(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeoutOf(c.target.Timeout))
	defer cancel()
	err := c.source.Send(ctx, c.target.Message)
	if err == nil {
		err = c.client.Flush(ctx)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return failed(err)
	}
	return &load.Failure{Kind: "not confirmed", Err: err}
}
