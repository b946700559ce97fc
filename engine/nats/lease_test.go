package nats

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/ferry/engine"
)

// bucket is a bucket with one key. wrote is called after each write, before the writer learns of it.
type bucket struct {
	jetstream.KeyValue
	wrote func(ctx context.Context) error

	mu       sync.Mutex
	value    []byte
	revision uint64
}

type bucketEntry struct {
	jetstream.KeyValueEntry
	value    []byte
	revision uint64
}

func (e bucketEntry) Value() []byte    { return e.value }
func (e bucketEntry) Revision() uint64 { return e.revision }

func (b *bucket) Get(context.Context, string) (jetstream.KeyValueEntry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.revision == 0 {
		return nil, jetstream.ErrKeyNotFound
	}
	return bucketEntry{value: b.value, revision: b.revision}, nil
}

func (b *bucket) Create(ctx context.Context, key string, value []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	return b.Update(ctx, key, value, 0)
}

func (b *bucket) Update(ctx context.Context, _ string, value []byte, revision uint64) (uint64, error) {
	b.mu.Lock()
	if revision != b.revision {
		b.mu.Unlock()
		return 0, jetstream.ErrKeyExists
	}
	b.value, b.revision = value, revision+1
	b.mu.Unlock()
	if err := b.wrote(ctx); err != nil {
		return 0, err
	}
	return revision + 1, nil
}

func leasedStream(b *bucket) *stream {
	e := &Engine{closing: make(chan struct{}), session: "s"}
	s := e.view("orders")
	s.bucket = b
	return s
}

var leased = engine.CursorConfig{Name: "work", Start: engine.Start{At: engine.AtFirst}}

// TestLeaseEndsBeforeItIsTaken: an opener that sees the last renewal at once takes the cursor after takeAfter. The holder has stopped
// by then, also if it has learned late of that renewal.
func TestLeaseEndsBeforeItIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var renewed time.Time
		writes := 0
		b := &bucket{}
		b.wrote = func(ctx context.Context) error {
			switch writes++; writes {
			case 1:
			case 2:
				renewed = time.Now()
				time.Sleep(renewWithin - 100*time.Millisecond)
			default: // the servers are away: the write never comes to them
				b.mu.Lock()
				b.revision--
				b.mu.Unlock()
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		lost := make(chan time.Time, 1)
		l, err := leasedStream(b).hold(t.Context(), leased, func(error) { lost <- time.Now() })
		if err != nil {
			t.Fatal(err)
		}
		if after := (<-lost).Sub(renewed); after >= takeAfter {
			t.Errorf("the holder stops %s after its last renewal, another one begins after %s", after, takeAfter)
		}
		<-l.ended
	})
}
