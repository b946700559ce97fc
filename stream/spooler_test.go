package stream_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/engine"
	enginemem "example.com/ferry/engine/memory"
	"example.com/ferry/link/spool"
	"example.com/ferry/stream"
	"example.com/ferry/transport/memory"
)

func openSpool(t *testing.T, cfg spool.Config) *spool.Spool {
	t.Helper()
	s, err := spool.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// dialSpooled returns a client with a spool, whether there is a node or not.
func dialSpooled(t *testing.T, network *memory.Network, s *spool.Spool) *stream.Client {
	t.Helper()
	cfg := quiet(nil)
	cfg.Spool = s
	c, err := stream.Dial(t.Context(), network, "node", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func sendNumbered(t *testing.T, c *stream.Client, tag string, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		send(t, c, ferry.Message{Tag: tag, Payload: []byte(fmt.Sprint(i))})
	}
}

// TestSpoolWithoutNode: Dial and Send need no node. When there is one, it gets all messages in order, and Flush returns.
func TestSpoolWithoutNode(t *testing.T) {
	const n = 2000
	network := memory.New(nil)
	s := openSpool(t, spool.Config{Dir: t.TempDir()})
	c := dialSpooled(t, network, s)
	src, err := c.Source(t.Context(), "orders/1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := src.Send(t.Context(), ferry.Message{Payload: []byte(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := c.Flush(short); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not connected to node") {
		t.Errorf("Flush without a node: got %v", err)
	}
	if v := c.Stats(); v.Connected || v.Spool.Messages != n || v.SpoolErr == nil || v.Spool.Oldest.IsZero() {
		t.Errorf("without a node: got %+v", v)
	}
	orders := storedStream(t)
	newTestNode(t, network, "node", broker.Config{Stored: []broker.Stored{orders}})
	sendNumbered(t, c, "orders/1", n, n+10)
	flush(t, c)
	if got := stored(t, orders); !same(got, numbered(n+10)) {
		t.Errorf("got %d messages: %.200q", len(got), got)
	}
	if v := c.Stats(); !v.Connected || v.Spool.Messages != 0 || v.SpoolErr != nil || v.SpoolDropped != 0 {
		t.Errorf("with a node: got %+v", v)
	}
}

// storedStream is a stream that outlives nodes.
func storedStream(t *testing.T) broker.Stored {
	t.Helper()
	e := enginemem.New()
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	c := engine.Config{Name: "orders", Tags: []string{"orders/#"}, InMemory: true}
	s, err := e.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return broker.Stored{Stream: s, Config: c, AtLeastOnce: true}
}

// stored returns the payloads of a stream.
func stored(t *testing.T, s broker.Stored) (payloads []string) {
	t.Helper()
	info, err := s.Stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seq := info.First; seq <= info.Last; seq++ {
		r, err := s.Stream.Get(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		if r.ID == "" {
			t.Fatalf("message %q has no ID", r.Payload)
		}
		payloads = append(payloads, string(r.Payload))
	}
	return payloads
}

// TestSpoolWhileNodeRestarts: nodes come and go, and so do clients, while messages are sent. Each message is stored once, in order.
func TestSpoolWhileNodeRestarts(t *testing.T) {
	const rounds, each = 12, 400
	network := memory.New(nil)
	orders := storedStream(t)
	dir := t.TempDir()
	var node *testNode
	for i := range rounds {
		switch i % 3 {
		case 0:
			node = newTestNode(t, network, "node", broker.Config{Stored: []broker.Stored{orders}})
		case 2:
			node.stop()
		}
		s := openSpool(t, spool.Config{Dir: dir, MaxBytes: 1 << 20})
		c := dialSpooled(t, network, s)
		sendNumbered(t, c, "orders/1", i*each, (i+1)*each)
		if i%2 == 0 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
			_ = c.Flush(ctx) // some messages, or all, are confirmed
			cancel()
		}
		_ = c.Close()
		_ = s.Close()
	}
	newTestNode(t, network, "node", broker.Config{Stored: []broker.Stored{orders}})
	flush(t, dialSpooled(t, network, openSpool(t, spool.Config{Dir: dir, MaxBytes: 1 << 20})))
	if got := stored(t, orders); !same(got, numbered(rounds*each)) {
		t.Errorf("%d messages are stored, not the %d sent in order: %.200q", len(got), rounds*each, got)
	}
}

// TestSpoolBound: while the spool is full, Send waits until ctx ends, and goes on when the node is there.
func TestSpoolBound(t *testing.T) {
	network := memory.New(nil)
	c := dialSpooled(t, network, openSpool(t, spool.Config{Dir: t.TempDir(), MaxBytes: 20_000}))
	orders := storedStream(t)
	n := 0
	for err := error(nil); err == nil; n++ {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err = c.Send(ctx, ferry.Message{Tag: "orders/1", Payload: []byte(fmt.Sprint(n))})
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if errors.Is(err, spool.ErrFull) {
			break
		}
		if err != nil { // a busy machine: nothing was spooled
			n, err = n-1, nil
		}
	}
	newTestNode(t, network, "node", broker.Config{Stored: []broker.Stored{orders}})
	sendNumbered(t, c, "orders/1", n, 3*n)
	flush(t, c)
	if got := stored(t, orders); n < 100 || !same(got, numbered(3*n)) {
		t.Errorf("got %d messages, want %d", len(got), 3*n)
	}
}

// TestSpoolSendStored: SendStored returns when the message is stored; Flush tells what the node has dropped.
func TestSpoolSendStored(t *testing.T) {
	network := memory.New(nil)
	orders := storedStream(t)
	newTestNode(t, network, "node", broker.Config{Stored: []broker.Stored{orders}})
	c := dialSpooled(t, network, openSpool(t, spool.Config{Dir: t.TempDir()}))
	if err := c.SendStored(t.Context(), ferry.Message{Tag: "orders/1", ID: "mine", Key: []byte("k"), Payload: []byte("0")}); err != nil {
		t.Fatal(err)
	}
	r, err := orders.Stream.Get(t.Context(), 1)
	if err != nil || string(r.Payload) != "0" || r.ID != "mine" {
		t.Fatalf("got %+v, %v, want the message", r, err)
	}
	send(t, c, ferry.Message{Tag: "orders/1", Type: ferry.JSON, Payload: []byte("{")})
	send(t, c, ferry.Message{Tag: "orders/1", Type: ferry.JSON, Payload: []byte("{}")})
	if err := c.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "1 messages on tag orders/1 were dropped") {
		t.Errorf("Flush after an invalid payload: got %v", err)
	}
	if got := stored(t, orders); !same(got, []string{"0", "{}"}) {
		t.Errorf("got %q", got)
	}
}

// TestSpoolRefuses: what can never be published is refused by Send, or dropped if the node was away then.
func TestSpoolRefuses(t *testing.T) {
	network := memory.New(nil)
	c := dialSpooled(t, network, openSpool(t, spool.Config{Dir: t.TempDir()}))
	large := ferry.Message{Tag: "orders/1", Payload: bytes.Repeat([]byte("x"), 2<<20)}
	send(t, c, large)
	sendNumbered(t, c, "orders/1", 0, 3)
	for _, m := range []ferry.Message{{Tag: "a/+"}, {Tag: "a", ID: strings.Repeat("x", 200)}} {
		if err := c.Send(t.Context(), m); err == nil {
			t.Errorf("%q with an ID of %d bytes was accepted", m.Tag, len(m.ID))
		}
	}
	orders := storedStream(t)
	newTestNode(t, network, "node", broker.Config{Stored: []broker.Stored{orders}})
	if err := c.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "the node takes at most") {
		t.Errorf("Flush after a message that is too large: got %v", err)
	}
	if v := c.Stats(); v.SpoolDropped != 1 {
		t.Errorf("got %+v, want one message dropped", v)
	}
	if err := c.Send(t.Context(), large); err == nil || !strings.Contains(err.Error(), "the node takes at most") {
		t.Errorf("a message that is too large: got %v", err)
	}
	if got := stored(t, orders); !same(got, numbered(3)) {
		t.Errorf("got %q", got)
	}
	_ = c.Close()
	if err := c.Send(t.Context(), ferry.Message{Tag: "a"}); !errors.Is(err, stream.ErrClosed) {
		t.Errorf("after Close: got %v", err)
	}
}

// TestSpoolWithForeignMessages: what another program has appended to the spool, and no node takes, does not hold up the rest.
func TestSpoolWithForeignMessages(t *testing.T) {
	network := memory.New(nil)
	s := openSpool(t, spool.Config{Dir: t.TempDir()})
	for _, m := range []ferry.Message{
		{Tag: "orders/1", ID: strings.Repeat("x", 200)},
		{Tag: "orders/1", Key: bytes.Repeat([]byte("x"), 300)},
		{Tag: "orders/+"},
		{Tag: "orders/1", Payload: []byte("0")},
	} {
		if _, err := s.Append(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
	}
	orders := storedStream(t)
	newTestNode(t, network, "node", broker.Config{Stored: []broker.Stored{orders}})
	c := dialSpooled(t, network, s)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.Flush(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("Flush: got %v, want an error that names the dropped messages", err)
	}
	if v := c.Stats(); v.SpoolDropped != 3 {
		t.Errorf("got %+v, want three messages dropped", v)
	}
	if got := stored(t, orders); !same(got, numbered(1)) {
		t.Errorf("got %q", got)
	}
}

// TestSpoolHeldUp: while the node refuses a tag, its messages and those behind them stay in the spool.
func TestSpoolHeldUp(t *testing.T) {
	network := memory.New(nil)
	newTestNode(t, network, "node", broker.Config{Identify: func([]byte, *tls.ConnectionState) (*broker.Identity, error) {
		return &broker.Identity{Name: "c", Publish: []string{"open/#"}}, nil
	}})
	c := dialSpooled(t, network, openSpool(t, spool.Config{Dir: t.TempDir()}))
	sendNumbered(t, c, "open/1", 0, 3)
	flush(t, c)
	sendNumbered(t, c, "closed/1", 0, 1)
	sendNumbered(t, c, "open/1", 3, 4)
	for late := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		v := c.Stats()
		if v.SpoolErr != nil && strings.Contains(v.SpoolErr.Error(), `publish on "closed/1"`) {
			if v.Spool.Messages != 2 {
				t.Errorf("got %+v, want two messages", v)
			}
			break
		}
		if time.Now().After(late) {
			t.Fatalf("nothing is held up: %+v", v)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := c.Flush(ctx); err == nil || !strings.Contains(err.Error(), "closed/1") || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Flush: got %v, want the reason", err)
	}
}

// TestSpoolLive: messages on a tag that is not stored leave the spool when they are routed. Addressed messages bypass the spool.
func TestSpoolLive(t *testing.T) {
	network := memory.New(nil)
	node := newTestNode(t, network, "node", broker.Config{})
	sink, answers := newCollector(), newCollector()
	start(t, node.dial(nil), stream.Function{Observe: []string{"a/#"}, Handler: sink, Concurrency: 1})
	other := node.dial(nil)
	start(t, other, stream.Function{Observe: []string{"answers"}, Addressed: true, Handler: answers})
	c := dialSpooled(t, network, openSpool(t, spool.Config{Dir: t.TempDir()}))
	sendNumbered(t, c, "a/b", 0, 500)
	flush(t, c)
	if got := sink.await(t, 500); !same(got, numbered(500)) {
		t.Errorf("got %.200q", got)
	}
	send(t, c, ferry.Message{Tag: "answers", To: other.ID(), Payload: []byte("hello")})
	flush(t, c)
	if got := answers.await(t, 1); !same(got, []string{"hello"}) {
		t.Errorf("addressed: got %q", got)
	}
}
