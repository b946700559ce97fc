package memory_test

import (
	"fmt"
	"testing"

	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
)

func benchStream(b *testing.B, maxBytes int64) engine.Stream {
	b.Helper()
	s, err := memory.New().Open(b.Context(), engine.Config{Name: "orders", Tags: []string{"orders/#"}, InMemory: true, MaxBytes: maxBytes})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkAppend stores runs of records of 256 bytes in a stream that is full, and reads them as they come.
func BenchmarkAppend(b *testing.B) {
	for _, row := range []struct{ run, publishers int }{{1, 1}, {1, 64}, {16, 1}, {16, 64}} {
		b.Run(fmt.Sprintf("run=%d/publishers=%d", row.run, row.publishers), func(b *testing.B) {
			s := benchStream(b, 4<<20)
			records := make([]engine.Record, row.run)
			for i := range records {
				records[i] = engine.Record{Tag: "orders/1", Payload: make([]byte, 256)}
			}
			c, err := s.Cursor(b.Context(), engine.CursorConfig{Filter: "orders/1"})
			if err != nil {
				b.Fatal(err)
			}
			ctx := b.Context()
			go func() {
				for {
					if _, err := c.Next(ctx, 1000, 1<<20); err != nil {
						return
					}
				}
			}()
			slots := make(chan error, row.publishers)
			for range row.publishers {
				slots <- nil
			}
			done := func(err error) { slots <- err }
			b.ReportAllocs()
			for b.Loop() {
				if err := <-slots; err != nil {
					b.Fatal(err)
				}
				s.Append(records, done)
			}
			for range row.publishers {
				<-slots
			}
		})
	}
}

// BenchmarkReplay reads 50,000 records from the first on.
func BenchmarkReplay(b *testing.B) {
	const records = 50_000
	for _, size := range []int{100, 1024} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := benchStream(b, 1<<30)
			done := make(chan error, records/1000)
			for range records / 1000 {
				run := make([]engine.Record, 1000)
				for i := range run {
					run[i] = engine.Record{Tag: "orders/1", Payload: make([]byte, size)}
				}
				s.Append(run, func(err error) { done <- err })
			}
			for range records / 1000 {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(records * int64(size))
			b.ReportAllocs()
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
	}
}
