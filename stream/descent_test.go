package stream_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/engine"
	enginememory "example.com/ferry/engine/memory"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream"
	"example.com/ferry/transport/memory"
)

// echo publishes each message on its tag with x and y exchanged.
type echo struct{ calls atomic.Int32 }

func (e *echo) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	e.calls.Add(1)
	level, rest, _ := strings.Cut(in.Tag, "/")
	return out.Send(ctx, ferry.Message{Tag: map[string]string{"x": "y", "y": "x"}[level] + "/" + rest, Payload: in.Payload})
}

// echoes is echo for batches.
type echoes struct{ echo }

func (e *echoes) HandleBatch(ctx context.Context, in []ferry.Message, out ferry.Sender) error {
	for i := range in {
		if err := e.Handle(ctx, &in[i], out); err != nil {
			return err
		}
	}
	return nil
}

// TestCycleOfFunctionsEnds: a message that a function publishes and observes comes to an end after MaxFunctions calls, and the node counts it.
func TestCycleOfFunctionsEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		durable string
		handler func() (ferry.Handler, *echo)
		from    stream.From
	}{
		{name: "messages", handler: func() (ferry.Handler, *echo) { e := &echo{}; return e, e }},
		{name: "batches", handler: func() (ferry.Handler, *echo) { e := &echoes{}; return e, &e.echo }},
		{name: "a durable", durable: "d", handler: func() (ferry.Handler, *echo) { e := &echo{}; return e, e }},
		{name: "batches of a durable", durable: "d", handler: func() (ferry.Handler, *echo) { e := &echoes{}; return e, &e.echo }},
		{name: "a stream", from: stream.FromFirst(), handler: func() (ferry.Handler, *echo) { e := &echo{}; return e, e }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := broker.Config{}
			if c.durable != "" || c.from != (stream.From{}) {
				e := enginememory.New()
				t.Cleanup(func() { _ = e.Close(context.Background()) })
				ec := engine.Config{Name: "s", Tags: []string{"#"}, InMemory: true}
				s, err := e.Open(t.Context(), ec)
				if err != nil {
					t.Fatal(err)
				}
				cfg.Stored = []broker.Stored{{Stream: s, Config: ec, AtLeastOnce: true, MaxDeliveries: 1}}
			}
			node := newTestNode(t, memory.New(nil), "node", cfg)
			client := node.dial(nil)
			handler, calls := c.handler()
			f := stream.Function{Observe: []string{"#"}, Handler: handler, Durable: c.durable, From: c.from}
			if c.durable == "" && c.from == (stream.From{}) {
				f.Observe = []string{"x/#", "y/#"}
			}
			start(t, client, f)
			send(t, node.dial(nil), ferry.Message{Tag: "x/1", Payload: []byte("1")})
			for deadline := time.Now().Add(30 * time.Second); node.broker.Snapshot().Dropped["cycle"] == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%d calls, and no message was dropped: %v", calls.calls.Load(), node.broker.Snapshot().Dropped)
				}
			}
			if got := calls.calls.Load(); got != native.MaxFunctions+1 {
				t.Errorf("%d calls, want %d", got, native.MaxFunctions+1)
			}
			_ = client.Flush(t.Context()) // it may tell of the dropped message
			if got := node.broker.Snapshot().Dropped["cycle"]; got != 1 {
				t.Errorf("%d messages were dropped, want 1", got)
			}
		})
	}
}
