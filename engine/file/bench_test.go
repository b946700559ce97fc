package file_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"example.com/ferry/engine"
	"example.com/ferry/engine/file"
	"example.com/ferry/engine/nats"
)

// benchEngines are the file engine and, for comparison, the embedded one.
var benchEngines = []struct {
	name string
	open func(b *testing.B, sync engine.Sync) engine.Engine
}{
	{"file", func(b *testing.B, sync engine.Sync) engine.Engine {
		return open(b, file.Config{Dir: b.TempDir(), Sync: sync})
	}},
	{"embedded", func(b *testing.B, sync engine.Sync) engine.Engine {
		e, err := nats.Embedded(b.Context(), nats.EmbeddedConfig{Dir: b.TempDir(), Sync: sync, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := e.Close(context.Background()); err != nil {
				b.Error(err)
			}
		})
		return e
	}},
}

func benchStream(b *testing.B, e engine.Engine) engine.Stream {
	b.Helper()
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
			for _, of := range benchEngines {
				b.Run(fmt.Sprintf("sync=%s/publishers=%d/%s", sync, publishers, of.name), func(b *testing.B) {
					s := benchStream(b, of.open(b, sync))
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
}

// BenchmarkReplay reads records of 1 KiB from the first on.
func BenchmarkReplay(b *testing.B) {
	const records = 50_000
	for _, of := range benchEngines {
		b.Run(of.name, func(b *testing.B) {
			s := benchStream(b, of.open(b, engine.SyncInterval))
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
		})
	}
}
