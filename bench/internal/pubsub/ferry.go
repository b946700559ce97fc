package pubsub

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"path/filepath"

	"example.com/ferry"
	"example.com/ferry/internal/pki"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/quic"
	"example.com/ferry/transport/tcp"
)

// trust returns the certificate authority of the data directory, which clients verify the node with.
func trust(dir string) (*tls.Config, error) { return pki.ClientTLS(filepath.Join(dir, pki.CAFile)) }

// ferryDial connects to the node, with the CA and the token of the data directory.
func ferryDial(ctx context.Context, s spec) (*stream.Client, error) {
	var t transport.Transport = tcp.New(nil)
	if s.System == FerryQUIC {
		c, err := trust(s.Dir)
		if err != nil {
			return nil, err
		}
		t = quic.New(&quic.Config{ClientTLS: c})
	}
	token, err := pki.ReadToken(filepath.Join(s.Dir, pki.TokenFile))
	if err != nil {
		return nil, err
	}
	return stream.Dial(ctx, t, s.Addr, &stream.Config{Token: []byte(token), Name: s.Role, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
}

// ferrySource sends by a stream.Batch for each tag, or, with single, by a Source.Send for each message.
type ferrySource struct {
	client  *stream.Client
	tags    []*stream.Source
	batches []*stream.Batch
	single  bool
}

func ferryPublish(ctx context.Context, s spec) (publisher, error) {
	client, err := ferryDial(ctx, s)
	if err != nil {
		return nil, err
	}
	f := &ferrySource{client: client, single: s.Single}
	for tag := range s.Tags {
		source, err := client.Source(ctx, tagName(tag, "/"))
		if err != nil {
			return nil, err
		}
		f.tags, f.batches = append(f.tags, source), append(f.batches, source.Batch())
	}
	return f, nil
}

func (f *ferrySource) send(tag int, payload []byte) error {
	m := ferry.Message{Type: ferry.CBOR, Payload: payload}
	if f.single {
		return f.tags[tag].Send(context.Background(), m)
	}
	return f.batches[tag].Add(context.Background(), m)
}

// flush sends what is in the batches. Source.Send writes a message itself, or leaves it to a goroutine that writes when the connection
// is free.
func (f *ferrySource) flush() error {
	for _, b := range f.batches {
		if err := b.Send(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

func (f *ferrySource) connects() int { return int(f.client.Stats().Connects) }

// batches handles the messages of one inbox together.
type batches func(tag int, payload []byte)

func (take batches) Handle(_ context.Context, in *ferry.Message, _ ferry.Sender) error {
	take(tagNumber(in.Tag), in.Payload)
	return nil
}

func (take batches) HandleBatch(_ context.Context, in []ferry.Message, _ ferry.Sender) error {
	tag := tagNumber(in[0].Tag)
	for i := range in {
		take(tag, in[i].Payload)
	}
	return nil
}

func ferrySubscribe(ctx context.Context, s spec, take func(tag int, payload []byte), fail func(error)) (func() int, error) {
	client, err := ferryDial(ctx, s)
	if err != nil {
		return nil, err
	}
	running, err := client.Start(ctx, stream.Function{Observe: []string{"bench/+"}, Handler: batches(take)})
	if err != nil {
		return nil, err
	}
	go func() {
		<-running.Done()
		fail(errors.Join(errors.New("the function ended"), running.Err()))
	}()
	return func() int { return int(client.Stats().Connects) }, nil
}
