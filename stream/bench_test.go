package stream_test

import (
	"context"
	"fmt"
	"testing"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/tcp"
)

// BenchmarkThroughput sends through a broker in the same process to one function.
func BenchmarkThroughput(b *testing.B) {
	for _, tr := range []struct {
		name string
		make func() (transport.Transport, string)
	}{
		{"memory", func() (transport.Transport, string) { return memory.New(nil), "node" }},
		{"tcp", func() (transport.Transport, string) { return tcp.New(nil), "127.0.0.1:0" }},
		{"quic", func() (transport.Transport, string) { return quicTransport(b), "127.0.0.1:0" }},
	} {
		for _, size := range []int{100, 1 << 10, 64 << 10} {
			b.Run(fmt.Sprintf("%s/%d", tr.name, size), func(b *testing.B) {
				t, addr := tr.make()
				s := newTestNode(b, t, addr, broker.Config{})
				done := make(chan struct{})
				n := 0
				r, err := s.dial(nil).Start(b.Context(), stream.Function{Observe: []string{"a"}, Concurrency: 1, Handler: stream.Sink(
					func(_ context.Context, in *ferry.Message) error {
						if len(in.Payload) != size {
							b.Errorf("%d bytes, want %d", len(in.Payload), size)
						}
						if n++; n == b.N {
							close(done)
						}
						return nil
					})})
				if err != nil {
					b.Fatal(err)
				}
				defer r.Stop()
				src, err := s.dial(nil).Source(b.Context(), "a")
				if err != nil {
					b.Fatal(err)
				}
				m := ferry.Message{Payload: make([]byte, size)}
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					if err := src.Send(b.Context(), m); err != nil {
						b.Fatal(err)
					}
				}
				<-done
			})
		}
	}
}

// BenchmarkLatency measures one message at a time, from Send to the handler, in one process.
func BenchmarkLatency(b *testing.B) {
	s := newTestNode(b, tcp.New(nil), "127.0.0.1:0", broker.Config{})
	got := make(chan struct{})
	r, err := s.dial(nil).Start(b.Context(), stream.Function{Observe: []string{"a"}, Concurrency: 1, Handler: stream.Sink(
		func(context.Context, *ferry.Message) error {
			got <- struct{}{}
			return nil
		})})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Stop()
	src, err := s.dial(nil).Source(b.Context(), "a")
	if err != nil {
		b.Fatal(err)
	}
	m := ferry.Message{Payload: make([]byte, 1000)}
	for b.Loop() {
		if err := src.Send(b.Context(), m); err != nil {
			b.Fatal(err)
		}
		<-got
	}
}
