package durable

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ferry/bench/internal/numbered"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
)

const (
	natsSubject = "orders.bench"
	natsPending = 4096   // messages of fill that wait for their acknowledgements
	natsPull    = 20_000 // messages that the consumer of replay asks for at a time: more than by default, and faster
)

type natsClient struct {
	conn   *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
}

// natsDial connects and creates the stream.
func natsDial(ctx context.Context, s spec) (client, error) {
	conn, err := nats.Connect("nats://"+strings.Join(s.Addrs, ",nats://"), nats.Timeout(10*time.Second), nats.Name("bench"))
	if err != nil {
		return nil, err
	}
	n := &natsClient{conn: conn}
	if n.js, err = jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(natsPending)); err != nil {
		return nil, err
	}
	c := jetstream.StreamConfig{Name: s.Stream, Subjects: []string{natsSubject}, Storage: jetstream.FileStorage, Replicas: s.Replicas, MaxBytes: s.Keep}
	if c.MaxBytes == 0 {
		c.MaxBytes = -1
	}
	for end := time.Now().Add(patience / 2); ; time.Sleep(50 * time.Millisecond) { // a cluster refuses it until it has a leader
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		n.stream, err = n.js.CreateOrUpdateStream(once, c)
		cancel()
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return n, err
		}
	}
}

func (n *natsClient) publish(ctx context.Context, payload []byte) error {
	_, err := n.js.Publish(ctx, natsSubject, payload)
	return err
}

func (n *natsClient) fill(ctx context.Context, count int, next func() []byte) error {
	for range count {
		// The library keeps the payload until it is acknowledged.
		if _, err := n.js.PublishAsync(natsSubject, append([]byte(nil), next()...), jetstream.WithStallWait(patience)); err != nil {
			return err
		}
	}
	select {
	case <-n.js.PublishAsyncComplete():
	case <-ctx.Done():
		return ctx.Err()
	}
	info, err := n.stream.Info(ctx)
	if err == nil && info.State.Msgs < uint64(count) {
		err = fmt.Errorf("%d messages were published, and %d are stored", count, info.State.Msgs)
	}
	return err
}

func (n *natsClient) consume(ctx context.Context, handle func(payload []byte), fail func(error)) (func(), error) {
	consumer, err := n.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "bench-" + nats.NewInbox()[7:], AckPolicy: jetstream.AckExplicitPolicy, DeliverPolicy: jetstream.DeliverNewPolicy,
	})
	if err != nil {
		return nil, err
	}
	c, err := consumer.Consume(func(m jetstream.Msg) {
		handle(m.Data())
		if err := m.Ack(); err != nil {
			fail(err)
		}
	}, natsErrors(fail))
	if err != nil {
		return nil, err
	}
	return func() {
		c.Stop()
		<-c.Closed()
		_ = n.stream.DeleteConsumer(context.WithoutCancel(ctx), consumer.CachedInfo().Name) // the next one has another name
	}, nil
}

// natsErrors passes errors that end a consumer to fail, rather than those of one request.
func natsErrors(fail func(error)) jetstream.PullConsumeOpt {
	return jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
		if errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConnectionClosed) {
			fail(err)
		}
	})
}

// replay evaluates the predicate here: JetStream does not look into messages.
func (n *natsClient) replay(ctx context.Context, where bool, handle func(payload []byte) bool) error {
	consumer, err := n.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy})
	if err != nil {
		return err
	}
	matcher := format.NewMatcher(cbor.Format{}, field.MustParsePredicate(numbered.Where))
	ended := make(chan error, 1)
	end := func(err error) {
		select {
		case ended <- err:
		default:
		}
	}
	done := false
	c, err := consumer.Consume(func(m jetstream.Msg) {
		if done {
			return
		}
		b := m.Data()
		if where {
			ok, _, err := matcher.Match(b)
			if err != nil {
				end(err)
			}
			if !ok {
				return
			}
		}
		if done = !handle(b); done {
			end(nil)
		}
	}, jetstream.PullMaxMessages(natsPull), natsErrors(end))
	if err != nil {
		return err
	}
	defer c.Stop()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
