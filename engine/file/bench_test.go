package file_test

import (
	"fmt"
	"testing"

	"example.com/ferry/engine"
	"example.com/ferry/engine/file"
)

func benchStream(b *testing.B, sync engine.Sync) engine.Stream {
	b.Helper()
	e := open(b, file.Config{Dir: b.TempDir(), Sync: sync})
	s, err := e.Open(b.Context(), engine.Config{Name: "orders", Tags: []string{"orders/#"}})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkAppend stores records of 256 bytes.
func BenchmarkAppend(b *testing.B) {
	records := []engine.Record{{Tag: "orders/1", Payload: make([]byte, 256)}}
	for _, sync := range []engine.Sync{engine.SyncAlways, engine.SyncInterval} {
		for _, publishers := range []int{1, 64} {
			b.Run(fmt.Sprintf("sync=%s/publishers=%d", sync, publishers), func(b *testing.B) {
				s := benchStream(b, sync)
				slots := make(chan error, publishers)
				for range publishers {
					slots <- nil
				}
				for b.Loop() {
					if err := <-slots; err != nil {
						b.Fatal(err)
					}
					s.Append(records, func(err error) { slots <- err })
				}
				for range publishers {
					<-slots
				}
			})
		}
	}
}

// BenchmarkReplay reads records of 1 KiB from the first on.
func BenchmarkReplay(b *testing.B) {
	const records = 50_000
	s := benchStream(b, engine.SyncInterval)
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
}

// BenchmarkBounded stores runs of 16 records of 256 bytes in a stream that is full.
func BenchmarkBounded(b *testing.B) {
	e := open(b, file.Config{Dir: b.TempDir(), Sync: engine.SyncInterval})
	s, err := e.Open(b.Context(), engine.Config{Name: "orders", Tags: []string{"orders/#"}, MaxBytes: 4 << 20})
	if err != nil {
		b.Fatal(err)
	}
	records := make([]engine.Record, 16)
	for i := range records {
		records[i] = engine.Record{Tag: "orders/1", Payload: make([]byte, 256)}
	}
	const publishers = 64
	slots := make(chan error, publishers)
	for range publishers {
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
	for range publishers {
		<-slots
	}
}
