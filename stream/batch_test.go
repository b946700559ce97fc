package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/link/spool"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream"
	"example.com/ferry/transport/memory"
)

func batchOf(t *testing.T, c *stream.Client) *stream.Batch {
	t.Helper()
	src, err := c.Source(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	return src.Batch()
}

func add(t *testing.T, b *stream.Batch, payload string) {
	t.Helper()
	reused := []byte(payload)
	if err := b.Add(t.Context(), ferry.Message{Payload: reused}); err != nil {
		t.Fatal(err)
	}
	clear(reused)
}

func sendBatch(t *testing.T, b *stream.Batch) {
	t.Helper()
	if err := b.Send(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestBatchOrderAndCompleteness(t *testing.T) {
	overEachTransport(t, func(t *testing.T, s *testNode) {
		const n = 5000
		sink := newCollector()
		start(t, s.dial(nil), stream.Function{Observe: []string{"a"}, Handler: sink, Concurrency: 1})
		b := batchOf(t, s.dial(nil))
		for i := range n {
			add(t, b, fmt.Sprint(i))
			if i%700 == 0 {
				sendBatch(t, b)
			}
		}
		sendBatch(t, b)
		if got := sink.await(t, n); !same(got, numbered(n)) {
			t.Errorf("got %d messages, not the %d added in order", len(got), n)
		}
	})
}

// TestBatchKeepsToTheCredit: the window of the node is smaller than a Batch, and a message is larger than both.
func TestBatchKeepsToTheCredit(t *testing.T) {
	s := newTestNode(t, memory.New(nil), "node", broker.Config{Window: 4 << 10})
	sink := newCollector()
	start(t, s.dial(nil), stream.Function{Observe: []string{"a"}, Handler: sink, Concurrency: 1})
	b := batchOf(t, s.dial(nil))
	var want []string
	for i := range 1000 {
		want = append(want, strings.Repeat(string(rune('a'+i%26)), i))
	}
	want = append(want, strings.Repeat("x", 100<<10), "last")
	for _, payload := range want {
		add(t, b, payload)
	}
	sendBatch(t, b)
	if got := sink.await(t, len(want)); !same(got, want) {
		t.Errorf("got %d messages, not the %d added in order", len(got), len(want))
	}
}

func TestBatchRefusesWhatIsTooLarge(t *testing.T) {
	s := newTestNode(t, memory.New(nil), "node", broker.Config{MaxFrame: 8 << 10})
	sink := newCollector()
	start(t, s.dial(nil), stream.Function{Observe: []string{"a"}, Handler: sink, Concurrency: 1})
	b := batchOf(t, s.dial(nil))
	add(t, b, "before")
	for _, m := range []ferry.Message{{Payload: make([]byte, 8<<10)}, {Key: make([]byte, 256)}} {
		err := b.Add(t.Context(), m)
		if err == nil || errors.Is(err, ferry.ErrTooLarge) != (len(m.Payload) > 0) {
			t.Errorf("%d bytes with a key of %d: got %v", len(m.Payload), len(m.Key), err)
		}
	}
	add(t, b, "behind")
	sendBatch(t, b)
	if got := sink.await(t, 2); !same(got, []string{"before", "behind"}) {
		t.Errorf("got %q", got)
	}
}

// TestBatchWaitsWithoutCredit: Send ends with its context. What is not sent stays in the Batch.
func TestBatchWaitsWithoutCredit(t *testing.T) {
	s := newTestNode(t, memory.New(nil), "node", broker.Config{Window: 1 << 10, Queue: 1 << 10})
	goOn := make(chan struct{})
	sink := newCollector()
	start(t, s.dial(nil), stream.Function{Observe: []string{"a"}, Concurrency: 1, Window: 1 << 10, Handler: ferry.HandlerFunc(
		func(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
			select {
			case <-goOn:
			case <-ctx.Done():
			}
			return sink.Handle(ctx, in, out)
		})})
	b := batchOf(t, s.dial(nil))
	const n = 400
	for i := range n {
		add(t, b, fmt.Sprint(i))
	}
	late, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := b.Send(late); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want the end of the context", err)
	}
	close(goOn)
	sendBatch(t, b)
	if got := sink.await(t, n); !same(got, numbered(n)) {
		t.Errorf("got %d messages, not the %d added in order", len(got), n)
	}
}

// TestBatchOverTwoConnections: the connection that the messages were added for is lost.
func TestBatchOverTwoConnections(t *testing.T) {
	network := memory.New(nil)
	s := newTestNode(t, network, "node", broker.Config{})
	c := s.dial(nil)
	if _, err := c.Source(t.Context(), "other"); err != nil { // so that the tag has another number on the next connection
		t.Fatal(err)
	}
	b := batchOf(t, c)
	add(t, b, "0")
	s.stop()
	s = newTestNode(t, network, "node", broker.Config{})
	sink := newCollector()
	fn := s.dial(nil)
	for _, tag := range []string{"x", "y", "a"} {
		if _, err := fn.Source(t.Context(), tag); err != nil {
			t.Fatal(err)
		}
	}
	start(t, fn, stream.Function{Observe: []string{"a"}, Handler: sink, Concurrency: 1})
	flush(t, fn)
	add(t, b, "1")
	sendBatch(t, b)
	if got := sink.await(t, 2); !same(got, numbered(2)) {
		t.Errorf("got %q", got)
	}
}

// TestBatchOnStoredTag: the client keeps copies of what a Batch has sent, and sends them again before what it still holds.
func TestBatchOnStoredTag(t *testing.T) {
	s := newScript(t)
	b := s.source("orders/1", true).Batch()
	add(t, b, "a")
	add(t, b, "b")
	sendBatch(t, b)
	size := s.pubs("a", "b")
	add(t, b, "c")
	if st := s.client.Stats(); st.Waiting != 2 || st.WaitingBytes != size {
		t.Errorf("%d messages with %d bytes wait, want 2 with %d", st.Waiting, st.WaitingBytes, size)
	}
	s.credit(size / 2)
	for s.client.Stats().Waiting != 1 {
		time.Sleep(time.Millisecond)
	}
	s.lose()
	s.grant(true)
	sendBatch(t, b)
	s.pubs("b", "c")
}

// TestBatchOverASmallerNode: the node of the next connection takes shorter frames. Send names the message that is too long, and the
// others are sent.
func TestBatchOverASmallerNode(t *testing.T) {
	network := memory.New(nil)
	s := newTestNode(t, network, "node", broker.Config{})
	b := batchOf(t, s.dial(nil))
	for _, payload := range []string{"before", strings.Repeat("x", 10<<10), "behind"} {
		add(t, b, payload)
	}
	s.stop()
	s = newTestNode(t, network, "node", broker.Config{MaxFrame: 8 << 10})
	sink := newCollector()
	start(t, s.dial(nil), stream.Function{Observe: []string{"a"}, Handler: sink, Concurrency: 1})
	if err := b.Send(t.Context()); !errors.Is(err, ferry.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	sendBatch(t, b)
	if got := sink.await(t, 2); !same(got, []string{"before", "behind"}) {
		t.Errorf("got %q", got)
	}
}

// TestBatchOfARefusedTag: the node does not grant the tag on the next connection.
func TestBatchOfARefusedTag(t *testing.T) {
	s := newScript(t)
	b := s.source("a", false).Batch()
	add(t, b, "x")
	s.lose()
	tag, err := native.ParseTag(s.node.expect(native.Tag))
	if err != nil {
		t.Fatal(err)
	}
	s.node.write(native.AppendResult(nil, native.ResultFrame{Kind: native.Tag, Ref: tag.Ref, Code: native.CodeForbidden, Reason: "no"}))
	for range 2 {
		var e *native.Error
		if err := b.Send(t.Context()); !errors.As(err, &e) || e.Code != native.CodeForbidden {
			t.Errorf("got %v, want the refusal of the node", err)
		}
	}
}

// TestBatchAddresses: messages of one Batch to one client, and to all functions.
func TestBatchAddresses(t *testing.T) {
	s := newTestNode(t, memory.New(nil), "node", broker.Config{})
	addressed, open := newCollector(), newCollector()
	to, all := s.dial(nil), s.dial(nil)
	start(t, to, stream.Function{Observe: []string{"a"}, Addressed: true, Handler: addressed, Concurrency: 1})
	start(t, all, stream.Function{Observe: []string{"a"}, Handler: open, Concurrency: 1})
	b := batchOf(t, s.dial(nil))
	for i := range 10 {
		m := ferry.Message{Payload: []byte(fmt.Sprint(i / 2))}
		if i%2 == 0 {
			m.To = to.ID()
		}
		if err := b.Add(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	sendBatch(t, b)
	for name, sink := range map[string]*collector{"addressed": addressed, "to all": open} {
		if got := sink.await(t, 5); !same(got, numbered(5)) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// TestBatchWithSpool: without a node, what is added is in the spool.
func TestBatchWithSpool(t *testing.T) {
	sp := openSpool(t, spool.Config{Dir: t.TempDir()})
	network := memory.New(nil)
	b := batchOf(t, dialSpooled(t, network, sp))
	for i := range 10 {
		add(t, b, fmt.Sprint(i))
	}
	if n := sp.Stats().Messages; n != 10 {
		t.Errorf("the spool has %d messages, want 10", n)
	}
	sendBatch(t, b)
}
