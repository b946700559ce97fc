package clientload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"example.com/ferry"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
)

// Stream are ferry's own clients. Each publishes on a tag of its own below Tags, and one more client receives all of it.
type Stream struct {
	Name      string
	Transport transport.Transport
	Addr      string
	Token     []byte
	Tags      string // orders
	Durable   bool   // Tags is stored: a message is acknowledged when it is stored, and the receiver is a durable. Otherwise it is when the node has routed it
}

// Kind returns the Kind of a Load, and its receiver, which is connected already.
func (s Stream) Kind(ctx context.Context) (Kind, error) {
	m := newMessages(s.Durable)
	receiver, err := s.dial(ctx, "receiver")
	if err != nil {
		return Kind{}, err
	}
	f := stream.Function{Observe: []string{s.Tags + "/#"}, Concurrency: 1, Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
		m.arrive(string(in.Payload))
		return nil
	})}
	if s.Durable {
		f.Durable, f.From = s.Tags, stream.FromFirst()
	}
	if _, err := receiver.Start(ctx, f); err != nil {
		_ = receiver.Close()
		return Kind{}, err
	}
	return Kind{Name: s.Name, Messages: m, Close: func() { _ = receiver.Close() }, Connect: func(ctx context.Context, client int) (Client, error) {
		c, err := s.dial(ctx, fmt.Sprint("publisher-", client))
		return &streamClient{s, c, fmt.Sprint(s.Tags, "/", client)}, err
	}}, nil
}

func (s Stream) dial(ctx context.Context, name string) (*stream.Client, error) {
	return stream.Dial(ctx, s.Transport, s.Addr, &stream.Config{Token: s.Token, Name: name, Log: slog.New(slog.DiscardHandler)})
}

type streamClient struct {
	Stream
	client *stream.Client
	tag    string
}

func (c *streamClient) Close() { _ = c.client.Close() }

func (c *streamClient) Do(ctx context.Context, id string) (again int, err error) {
	m := ferry.Message{Tag: c.tag, ID: id, Payload: []byte(id)}
	if c.Durable {
		return 0, c.client.SendStored(ctx, m)
	}
	for ; again <= maxAgain; again++ {
		if err = c.client.Send(ctx, m); err == nil {
			err = c.client.Flush(ctx)
		}
		var dropped *stream.DroppedError
		if err == nil || ctx.Err() != nil || errors.As(err, &dropped) {
			return again, err
		}
		wait(ctx, 10*time.Millisecond) // the connection was lost: whether the message was routed is not known
	}
	return again, err
}
