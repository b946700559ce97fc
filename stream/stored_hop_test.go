package stream_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
	"example.com/ferry/internal/history"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	memorytransport "example.com/ferry/transport/memory"
)

// ordersAndBills returns a broker's streams orders/# and bills/#, which are stored at least once and outlive the broker.
func ordersAndBills(t *testing.T) []broker.Stored {
	t.Helper()
	e := memory.New()
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	var all []broker.Stored
	for _, name := range []string{"orders", "bills"} {
		c := engine.Config{Name: name, Tags: []string{name + "/#"}, InMemory: true}
		s, err := e.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, broker.Stored{Stream: s, Config: c, AtLeastOnce: true, Backoff: []time.Duration{time.Millisecond}})
	}
	return all
}

// newStoringNode starts a broker that stores streams.
func newStoringNode(t *testing.T, tr transport.Transport, addr string, streams []broker.Stored) *testNode {
	t.Helper()
	return newTestNode(t, tr, addr, broker.Config{Stored: streams})
}

// number makes a message of a key with a number.
func number(tag string, n uint64) ferry.Message {
	return ferry.Message{Tag: tag, ID: fmt.Sprint(tag, n), Payload: binary.BigEndian.AppendUint64(nil, n)}
}

// recorder returns a handler that records messages in h. It fails for one of each failEvery messages.
func recorder(h *history.History, name string, failEvery int) ferry.Handler {
	return stream.Sink(func(ctx context.Context, in *ferry.Message) error {
		if failEvery > 0 && rand.N(failEvery) == 0 {
			h.Failed(in.Tag, binary.BigEndian.Uint64(in.Payload), name)
			return errNoCustomer
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		h.Handled(in.Tag, binary.BigEndian.Uint64(in.Payload), name)
		return nil
	})
}

func awaitHandled(t *testing.T, h *history.History) {
	t.Helper()
	for late := time.Now().Add(60 * time.Second); h.Unhandled() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d messages are not handled after 60 s", h.Unhandled())
		}
	}
}

// sendAll sends n messages of each of several keys, and waits until they are stored.
func sendAll(t *testing.T, c *stream.Client, h *history.History, keys, n int) {
	t.Helper()
	for i := range uint64(n) {
		for k := range keys {
			m := number(fmt.Sprint("orders/", k), i)
			h.Sent(m.Tag, i)
			if err := c.Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(n) {
		for k := range keys {
			h.Stored(fmt.Sprint("orders/", k), i)
		}
	}
}

// TestDurableHandlesEachMessage: handlers that fail at random lose nothing and keep the order of each key.
func TestDurableHandlesEachMessage(t *testing.T) {
	for _, c := range []struct {
		name string
		tr   func(t *testing.T) (transport.Transport, string)
	}{
		{"memory", func(*testing.T) (transport.Transport, string) { return memorytransport.New(nil), "node" }},
		{"quic", func(t *testing.T) (transport.Transport, string) { return quicTransport(t), "127.0.0.1:0" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, addr := c.tr(t)
			s := newStoringNode(t, tr, addr, ordersAndBills(t))
			var h history.History
			for i := range 3 {
				name := fmt.Sprint("member ", i)
				start(t, s.dial(nil), stream.Function{Observe: []string{"orders/#"}, Durable: "billing", From: stream.FromFirst(), Handler: recorder(&h, name, 20), Concurrency: 3})
			}
			sendAll(t, s.dial(nil), &h, 10, 200)
			awaitHandled(t, &h)
			if r := h.Check(); !r.OK() {
				t.Error(r.String())
			}
		})
	}
}

// TestRestartsOfTheNode: the node drains and starts again while messages are sent and handled.
func TestRestartsOfTheNode(t *testing.T) {
	network, streams := memorytransport.New(nil), ordersAndBills(t)
	s := newStoringNode(t, network, "node", streams)
	var h history.History
	start(t, s.dial(nil), stream.Function{Observe: []string{"orders/#"}, Durable: "billing", From: stream.FromFirst(), Handler: recorder(&h, "one", 0)})
	start(t, s.dial(nil), stream.Function{Observe: []string{"orders/#"}, Durable: "billing", From: stream.FromFirst(), Handler: recorder(&h, "two", 0)})
	sent := make(chan struct{})
	src := s.dial(nil)
	go func() {
		defer close(sent)
		sendAll(t, src, &h, 10, 300)
	}()
	for range 3 {
		time.Sleep(20 * time.Millisecond)
		ended := h.Fault("the node starts again")
		s.stop()
		s = newStoringNode(t, network, "node", streams)
		ended()
	}
	<-sent
	awaitHandled(t, &h)
	if r := h.Check(); !r.OK() {
		t.Error(r.String())
	}
}

// TestRestartsOfAFunction: a function is stopped and started again while messages are sent. Nothing is lost.
func TestRestartsOfAFunction(t *testing.T) {
	s := newStoringNode(t, memorytransport.New(nil), "node", ordersAndBills(t))
	var h history.History
	var again atomic.Int64
	handle := recorder(&h, "f", 0)
	f := stream.Function{Observe: []string{"orders/#"}, Durable: "billing", From: stream.FromFirst(), Concurrency: 8, Handler: stream.Sink(func(ctx context.Context, in *ferry.Message) error {
		if in.Deliveries > 0 {
			again.Add(1)
		}
		return handle.Handle(ctx, in, nil)
	})}
	c := s.dial(nil)
	r := start(t, c, f)
	sent := make(chan struct{})
	src := s.dial(nil)
	go func() {
		defer close(sent)
		sendAll(t, src, &h, 10, 1000)
	}()
	for range 5 {
		time.Sleep(10 * time.Millisecond)
		ended := h.Fault("the function starts again")
		r.Stop()
		r = start(t, c, f)
		ended()
	}
	<-sent
	awaitHandled(t, &h)
	if report := h.Check(); !report.OK() {
		t.Error(report.String())
	}
	if n := again.Load(); n > 5*8 {
		t.Errorf("%d messages were counted as delivered before, want those of the handlers that Stop has interrupted", n)
	}
}

// TestChainOfDurables: a handler sends one message to a stored tag for each message. The connection of its client is lost again and
// again. The second durable gets a message for each.
func TestChainOfDurables(t *testing.T) {
	const n = 5000
	flaky := &flakyTransport{Transport: memorytransport.New(nil)}
	s := newStoringNode(t, flaky, "node", ordersAndBills(t))
	var h history.History
	start(t, s.dial(nil), stream.Function{Observe: []string{"bills/#"}, Durable: "archive", From: stream.FromFirst(), Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
		h.Handled("orders/0", binary.BigEndian.Uint64(in.Payload), "archive")
		return nil
	})})
	start(t, s.dial(nil), stream.Function{Observe: []string{"orders/#"}, Durable: "billing", From: stream.FromFirst(), Handler: ferry.HandlerFunc(
		func(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
			return out.Send(ctx, ferry.Message{Tag: "bills/1", Payload: in.Payload})
		})})
	sent := make(chan struct{})
	src := s.dial(nil)
	go func() {
		defer close(sent)
		sendAll(t, src, &h, 1, n)
	}()
	for range 5 {
		time.Sleep(20 * time.Millisecond)
		ended := h.Fault("all connections are lost")
		flaky.breakAll()
		ended()
	}
	<-sent
	awaitHandled(t, &h)
	if r := h.Check(); r.Count(history.Lost)+r.Count(history.Invented) > 0 {
		t.Error(r.String())
	}
}

// flakyTransport is a transport whose clients lose their connections.
type flakyTransport struct {
	transport.Transport
	mu    sync.Mutex
	conns []transport.Conn
	away  atomic.Bool // Dial fails
}

func (f *flakyTransport) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	if f.away.Load() {
		return nil, errors.New("the node is away")
	}
	c, err := f.Transport.Dial(ctx, addr)
	if err == nil {
		f.mu.Lock()
		f.conns = append(f.conns, c)
		f.mu.Unlock()
	}
	return c, err
}

// breakAll closes all connections.
func (f *flakyTransport) breakAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		_ = c.Close()
	}
	f.conns = nil
}

// TestReplay: a function without a durable reads what is stored from the first message, then what follows.
func TestReplay(t *testing.T) {
	s := newStoringNode(t, memorytransport.New(nil), "node", ordersAndBills(t))
	src := s.dial(nil)
	for i := range uint64(100) {
		if err := src.SendStored(t.Context(), number("orders/1", i)); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan ferry.Message, 300)
	keep := stream.Sink(func(_ context.Context, in *ferry.Message) error {
		got <- in.Clone()
		return nil
	})
	start(t, s.dial(nil), stream.Function{Observe: []string{"orders/#"}, From: stream.FromSequence(50), Handler: keep, Window: 1000})
	for i := range uint64(100) {
		if err := src.SendStored(t.Context(), number("orders/1", 100+i)); err != nil {
			t.Fatal(err)
		}
	}
	for want := uint64(50); want <= 200; want++ {
		m := <-got
		if m.Sequence != want || binary.BigEndian.Uint64(m.Payload) != want-1 || m.Tag != "orders/1" || m.ID != fmt.Sprint("orders/1", want-1) {
			t.Fatalf("got message %d of %s, ID %s, want %d", m.Sequence, m.Tag, m.ID, want)
		}
	}
}

// TestReplayOfAStreamThatBeganAgain: a reader goes on although the node has lost its streams, and numbers from 1 again.
func TestReplayOfAStreamThatBeganAgain(t *testing.T) {
	network := memorytransport.New(nil)
	s := newStoringNode(t, network, "node", ordersAndBills(t))
	got := make(chan string, 300)
	reader := s.dial(nil)
	start(t, reader, stream.Function{Observe: []string{"orders/#"}, From: stream.FromFirst(), Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
		got <- string(in.Payload)
		return nil
	})})
	src := s.dial(nil)
	for range 2000 {
		if err := src.Send(t.Context(), ferry.Message{Tag: "orders/1", Payload: []byte("before")}); err != nil {
			t.Fatal(err)
		}
		<-got
	}
	s.stop()
	newStoringNode(t, network, "node", ordersAndBills(t))
	for late := time.Now().Add(30 * time.Second); ; { // the reader may miss what is stored before it has subscribed again
		if err := src.SendStored(t.Context(), ferry.Message{Tag: "orders/1", Payload: []byte("after")}); err != nil {
			t.Fatal(err)
		}
		select {
		case text := <-got:
			if text != "after" {
				t.Errorf("got %q", text)
			}
			return
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(late) {
			t.Fatal("no message of the new stream has arrived after 30 s")
		}
	}
}

// TestLargestStoredMessage: what a source may publish is delivered, though the node adds to its frame.
func TestLargestStoredMessage(t *testing.T) {
	s := newStoringNode(t, memorytransport.New(nil), "node", ordersAndBills(t))
	got := newCollector()
	start(t, s.dial(nil), stream.Function{Observe: []string{"orders/#"}, Durable: "d", From: stream.FromFirst(), Handler: got})
	tag := "orders/" + strings.Repeat("x", 1024-len("orders/"))
	if err := s.dial(nil).SendStored(t.Context(), ferry.Message{Tag: tag, Payload: make([]byte, 1<<20-native.PubHeaderSize)}); err != nil {
		t.Fatal(err)
	}
	if n := len(got.await(t, 1)[0]); n != 1<<20-native.PubHeaderSize {
		t.Errorf("got %d bytes", n)
	}
}

// TestRefusedDurables: the node says why it does not accept a function.
func TestRefusedDurables(t *testing.T) {
	s := newStoringNode(t, memorytransport.New(nil), "node", ordersAndBills(t))
	for _, filter := range []string{"#", "other"} {
		var e *native.Error
		_, err := s.dial(nil).Start(t.Context(), stream.Function{Observe: []string{filter}, Durable: "d", Handler: newCollector()})
		if !errors.As(err, &e) || e.Code != native.CodeBadRequest {
			t.Errorf("%s: got %v, want bad request", filter, err)
		}
	}
}

// TestNewMessagesWhileAway: a function that begins with new messages, and has got none yet, gets those that are stored while its
// connection is lost.
func TestNewMessagesWhileAway(t *testing.T) {
	network := memorytransport.New(nil)
	s := newStoringNode(t, network, "node", ordersAndBills(t))
	src := s.dial(nil)
	next := uint64(1)
	send := func() {
		t.Helper()
		if err := src.SendStored(t.Context(), number("orders/1", next)); err != nil {
			t.Fatal(err)
		}
		next++
	}
	send()
	fromNew, err := stream.ParseFrom("new")
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]stream.From{"new": fromNew, "a number that comes later": stream.FromSequence(1000)} {
		flaky := &flakyTransport{Transport: network}
		reader, err := stream.Dial(t.Context(), flaky, "node", quiet(&stream.Config{MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond}))
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		got := make(chan uint64, 100)
		start(t, reader, stream.Function{Observe: []string{"orders/#"}, From: from, Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
			got <- binary.BigEndian.Uint64(in.Payload)
			return nil
		})})
		want := next
		for round := range 3 { // the first loss is not the last one before the first message
			flaky.away.Store(true)
			flaky.breakAll()
			if round > 0 {
				send()
				send()
			}
			flaky.away.Store(false)
			for ; want < next; want++ {
				select {
				case n := <-got:
					if n != want {
						t.Fatalf("%s: got message %d, want %d", name, n, want)
					}
				case <-time.After(30 * time.Second):
					t.Fatalf("%s: message %d has not arrived after 30 s", name, want)
				}
			}
		}
	}
}
