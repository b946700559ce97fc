package broker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/engine"
	"example.com/ferry/engine/file"
)

// TestStoredInFiles: a durable over the engine of files resumes in another broker, on an engine that was opened again.
func TestStoredInFiles(t *testing.T) {
	dir := t.TempDir()
	const messages, tags = 300, 10
	open := func() (*file.Engine, broker.Stored) {
		t.Helper()
		e, err := file.Open(file.Config{Dir: dir, Sync: engine.SyncInterval})
		if err != nil {
			t.Fatal(err)
		}
		c := engine.Config{Name: "orders", Tags: []string{"orders/#"}}
		s, err := e.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return e, broker.Stored{Stream: s, Config: c, AtLeastOnce: true}
	}
	end := func(b *broker.Broker, e *file.Engine) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = b.Shutdown(ctx) // the clients of these tests never say GOAWAY
		if err := e.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	e, s := open()
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	src := greet2(t, addr)
	for i := range tags {
		tag := src.tag(fmt.Sprintf("orders/%d", i))
		src.publish(tag, orders(messages/tags)...)
	}
	p := worker(t, addr, 1<<20)
	acked := map[uint64]bool{}
	for i := range messages {
		if m := p.nextStored(); i%2 == 0 {
			p.ack(m)
			acked[m.Sequence] = true
		}
	}
	eventually(t, "half is done", func() bool { return workStats(t, b).Held == messages/2 })
	_, _ = p.conn.Close(), src.conn.Close()
	end(b, e)

	e, s = open()
	b, addr = serve(t, broker.Config{Stored: []broker.Stored{s}})
	p = worker(t, addr, 1<<20)
	last := map[string]uint64{}
	for range messages / 2 {
		m := p.nextStored()
		if acked[m.Sequence] {
			t.Fatalf("message %d was acked", m.Sequence)
		}
		if last[string(m.Tag)] >= m.Sequence {
			t.Fatalf("message %d of %s comes behind %d", m.Sequence, m.Tag, last[string(m.Tag)])
		}
		last[string(m.Tag)] = m.Sequence
		p.ack(m)
	}
	eventually(t, "all is done", func() bool { return workStats(t, b).Held == 0 })
	_ = p.conn.Close()
	end(b, e)
}
