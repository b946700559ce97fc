package worker

import (
	"context"
	"io"
	"strings"
	"testing"

	"example.com/ferry"
)

// BenchmarkCall sends one message and receives its response.
func BenchmarkCall(b *testing.B) {
	p := start(b, role(b, "serve"))
	for _, row := range []struct {
		name    string
		payload string
	}{{"100B", strings.Repeat("x", 100)}, {"64KiB", strings.Repeat("x", 64<<10)}, {"1MiB", strings.Repeat("x", 1<<20)}} {
		b.Run(row.name, func(b *testing.B) {
			request := []byte(row.payload)
			var dst []byte
			var err error
			b.SetBytes(int64(2 * len(request)))
			b.ReportAllocs()
			for b.Loop() {
				if dst, err = p.Call(b.Context(), request, dst[:0]); err != nil || len(dst) != len(request) {
					b.Fatalf("%d bytes, %v", len(dst), err)
				}
			}
		})
	}
}

// BenchmarkLimit sends 100 bytes over a socket and back. This is the cost of two process switches.
func BenchmarkLimit(b *testing.B) {
	p := start(b, role(b, "script", scriptVariable+"=read,hello,mirror"))
	c, err := p.acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var buf [100]byte
	for b.Loop() {
		if _, err := c.conn.Write(buf[:]); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c.conn, buf[:]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBatch sends messages of 100 bytes, 64 at a time. The figures are for one message.
func BenchmarkBatch(b *testing.B) {
	p := start(b, role(b, "serve"))
	in := make([]ferry.Message, 64)
	for i := range in {
		in[i] = ferry.Message{Tag: "echo", Payload: make([]byte, 100)}
	}
	answers := 0
	count := hook(func(ferry.Message) error { answers++; return nil })
	b.ReportAllocs()
	for i := 0; i < b.N; i += len(in) {
		if err := p.HandleBatch(context.Background(), in, count); err != nil {
			b.Fatal(err)
		}
	}
	if answers < b.N {
		b.Fatalf("%d answers to %d messages", answers, b.N)
	}
}

// BenchmarkDirect calls a handler of about a millisecond in this process. BenchmarkWorker calls the same handler in another
// process.
func BenchmarkDirect(b *testing.B) {
	var dst payloadCollector
	in := ferry.Message{Tag: "work", Payload: make([]byte, 100)}
	for b.Loop() {
		dst.b = dst.b[:0]
		if err := obey(b.Context(), &in, &dst); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWorker(b *testing.B) {
	p := start(b, role(b, "serve"))
	var dst payloadCollector
	in := ferry.Message{Tag: "work", Payload: make([]byte, 100)}
	for b.Loop() {
		dst.b = dst.b[:0]
		if err := p.Handle(b.Context(), &in, &dst); err != nil {
			b.Fatal(err)
		}
	}
}
