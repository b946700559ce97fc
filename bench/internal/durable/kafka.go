package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/ferry/bench/internal/numbered"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
)

// kafkaClient is a client of one partition.
type kafkaClient struct {
	spec   spec
	client *kgo.Client
}

// kafkaDial connects and creates the topic.
func kafkaDial(ctx context.Context, s spec) (client, error) {
	k := &kafkaClient{spec: s}
	var err error
	if k.client, err = k.connect(kgo.DefaultProduceTopic(s.Stream), kgo.MaxBufferedRecords(50_000)); err != nil {
		return nil, err
	}
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = s.Stream, 1, int16(s.Replicas)
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics, request.TimeoutMillis = append(request.Topics, topic), 10_000
	for { // until the broker has started
		r, err := request.RequestWith(ctx, k.client)
		switch {
		case err == nil && len(r.Topics) == 1 && (r.Topics[0].ErrorCode == 0 || r.Topics[0].ErrorCode == 36): // 36: it exists
			return k, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("create topic %s: %w", s.Stream, errors.Join(ctx.Err(), err))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (k *kafkaClient) connect(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(opts, kgo.SeedBrokers(k.spec.Addrs...), kgo.ProducerBatchCompression(kgo.NoCompression()))...)
}

func (k *kafkaClient) publish(ctx context.Context, payload []byte) error {
	return k.client.ProduceSync(ctx, &kgo.Record{Value: payload}).FirstErr()
}

func (k *kafkaClient) fill(ctx context.Context, n int, next func() []byte) error {
	failed := make(chan error, 1)
	for range n {
		k.client.Produce(ctx, &kgo.Record{Value: append([]byte(nil), next()...)}, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	if err := k.client.Flush(ctx); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func (k *kafkaClient) consume(context.Context, func([]byte), func(error)) (func(), error) {
	return nil, errors.New("durable: Kafka takes part in replay only")
}

func (k *kafkaClient) replay(ctx context.Context, where bool, handle func(payload []byte) bool) error {
	c, err := k.connect(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{k.spec.Stream: {0: kgo.NewOffset().AtStart()}}),
		kgo.FetchMaxPartitionBytes(16<<20), kgo.FetchMaxBytes(64<<20), // more than by default, and faster
	)
	if err != nil {
		return err
	}
	defer c.Close()
	matcher := format.NewMatcher(cbor.Format{}, field.MustParsePredicate(numbered.Where))
	for {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for records := fetches.RecordIter(); !records.Done(); {
			b := records.Next().Value
			if where {
				if ok, _, err := matcher.Match(b); err != nil {
					return err
				} else if !ok {
					continue
				}
			}
			if !handle(b) {
				return nil
			}
		}
	}
}
