package stream_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/engine"
	"example.com/ferry/stream"
	memorytransport "example.com/ferry/transport/memory"
)

// heldStream is a Stream whose appends are never done while held is set, as those of an engine whose disk hangs.
type heldStream struct {
	engine.Stream
	mu   sync.Mutex
	held bool
}

func (s *heldStream) Append(records []engine.Record, done func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.held {
		s.Stream.Append(records, done)
	}
}

// TestSendStoredWithoutItsStream: a stream is removed from the configuration while clients publish. What waits for it is not confirmed
// and does not wait for ever, and later messages are not either.
func TestSendStoredWithoutItsStream(t *testing.T) {
	streams := ordersAndBills(t)
	orders := &heldStream{Stream: streams[0].Stream}
	streams[0].Stream = orders
	tr := memorytransport.New(nil)
	n := newStoringNode(t, tr, "node", streams)
	c := n.dial(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	m := ferry.Message{Tag: "orders/1", Payload: []byte("x")}
	if err := c.SendStored(ctx, m); err != nil {
		t.Fatal(err)
	}
	orders.mu.Lock()
	orders.held = true
	orders.mu.Unlock()
	waiting := make(chan error, 1)
	go func() { waiting <- c.SendStored(ctx, m) }()
	for n.broker.Snapshot().Streams[1].Pending.Messages+n.broker.Snapshot().Streams[0].Pending.Messages == 0 {
		time.Sleep(time.Millisecond)
		if ctx.Err() != nil {
			t.Fatal("the message does not wait to be stored")
		}
	}
	set, err := n.broker.PrepareStreams(streams[1:])
	if err != nil {
		t.Fatal(err)
	}
	set()
	if err := <-waiting; err == nil || ctx.Err() != nil {
		t.Fatalf("SendStored of a message that waited returns %v", err)
	}
	for i := range 100 {
		if err := c.SendStored(ctx, m); err == nil || ctx.Err() != nil {
			t.Fatalf("SendStored %d returns %v, but no stream stores the tag", i, err)
		}
	}
	for err = nil; !errors.Is(err, stream.ErrNotStored); err = c.SendStored(ctx, m) {
		if ctx.Err() != nil {
			t.Fatal("the client is not told that the tag is not stored")
		}
	}
	if err := c.SendStored(ctx, ferry.Message{Tag: "bills/1", Payload: []byte("x")}); err != nil {
		t.Errorf("SendStored on a tag that is still stored: %v", err)
	}
	if err := c.Send(ctx, m); err != nil {
		t.Errorf("Send on the tag that is not stored: %v", err)
	}
}
