package nats

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/ferry/engine"
)

func benchEngine(b *testing.B, sync engine.Sync) (*Engine, engine.Stream) {
	b.Helper()
	e, err := Embedded(b.Context(), EmbeddedConfig{Dir: b.TempDir(), Sync: sync, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	s, err := e.Open(b.Context(), engine.Config{Name: "orders", Tags: []string{"orders/#"}})
	if err != nil {
		b.Fatal(err)
	}
	return e, s
}

// BenchmarkAppend stores records of 256 bytes, and for comparison messages by nats.go on the same server with as many outstanding.
func BenchmarkAppend(b *testing.B) {
	payload := make([]byte, 256)
	for _, sync := range []engine.Sync{engine.SyncAlways, engine.SyncInterval} {
		for _, outstanding := range []int{1, 64, 1000} {
			name := fmt.Sprintf("sync=%s/outstanding=%d", sync, outstanding)
			b.Run(name, func(b *testing.B) {
				_, s := benchEngine(b, sync)
				records := []engine.Record{{Tag: "orders/1", Payload: payload}}
				slots := make(chan error, outstanding)
				for range outstanding {
					slots <- nil
				}
				for b.Loop() {
					if err := <-slots; err != nil {
						b.Fatal(err)
					}
					s.Append(records, func(err error) { slots <- err })
				}
				for range outstanding {
					<-slots
				}
			})
			b.Run(name+"/nats.go", func(b *testing.B) {
				e, _ := benchEngine(b, sync)
				js, err := jetstream.New(e.write, jetstream.WithPublishAsyncMaxPending(outstanding))
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if outstanding == 1 {
						_, err = js.Publish(b.Context(), "ferry.orders.1", payload)
					} else {
						_, err = js.PublishAsync("ferry.orders.1", payload, jetstream.WithStallWait(patience))
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				<-js.PublishAsyncComplete()
			})
		}
	}
}

// BenchmarkReplay reads records of 1 KiB from the first on, and for comparison with nats.go's ordered consumer.
func BenchmarkReplay(b *testing.B) {
	const records = 50_000
	e, s := benchEngine(b, engine.SyncInterval)
	done := make(chan error, records/1000)
	for range records / 1000 {
		run := make([]engine.Record, 1000)
		for i := range run {
			run[i] = engine.Record{Tag: "orders/1", Payload: make([]byte, 1024)}
		}
		s.Append(run, func(err error) { done <- err })
	}
	for range records / 1000 {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.Run("cursor", func(b *testing.B) {
		b.SetBytes(records * 1024)
		for b.Loop() {
			c, err := s.Cursor(b.Context(), engine.CursorConfig{Start: engine.Start{At: engine.AtFirst}})
			if err != nil {
				b.Fatal(err)
			}
			for n := 0; n < records; {
				got, err := c.Next(b.Context(), 1000, 1<<20)
				if err != nil {
					b.Fatal(err)
				}
				n += len(got)
			}
			if err := c.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("nats.go", func(b *testing.B) {
		b.SetBytes(records * 1024)
		for b.Loop() {
			c, err := e.js.OrderedConsumer(b.Context(), "ferry-orders", jetstream.OrderedConsumerConfig{})
			if err != nil {
				b.Fatal(err)
			}
			all := make(chan struct{})
			n := 0
			consuming, err := c.Consume(func(jetstream.Msg) {
				if n++; n == records {
					close(all)
				}
			})
			if err != nil {
				b.Fatal(err)
			}
			<-all
			consuming.Stop()
		}
	})
}
