package broker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/field"
	"example.com/ferry/protocol/native"
)

func prepare(t *testing.T, b *broker.Broker, next ...broker.Stored) {
	t.Helper()
	set, err := b.PrepareStreams(next)
	if err != nil {
		t.Fatal(err)
	}
	set()
}

// TestPrepareStreams: streams begin, change and end while clients use them.
func TestPrepareStreams(t *testing.T) {
	e := newEngine(t)
	b, addr := serve(t, broker.Config{})
	src := greet2(t, addr)
	tag := src.tag("orders/1")
	src.publish(tag, "before")

	s := openStream(t, e, "orders", "orders/#")
	s.AckWait = time.Minute
	prepare(t, b, s)
	src.publish(tag, orders(2)...) // on the tag that had no stream
	p := greet2(t, addr)
	if v := p.subscribeStored(native.SubFrame{Filter: "orders/#", Durable: "work", Start: native.StartFirst}); v.Value != 60000 {
		t.Errorf("got %+v", v)
	}
	got := p.expectMessages(orders(2)...)
	replay := greet2(t, addr)
	replay.subscribeStored(native.SubFrame{Filter: "orders/#", Start: native.StartFirst})
	replay.expectMessages(orders(2)...)

	s.MaxDeliveries = 1
	prepare(t, b, s)
	src.publish(tag, "order 3") // with it the durable takes over the configuration
	p.expectMessages("order 3")
	p.nak(0, got[0])
	eventually(t, "the message is dropped", func() bool { return workStats(t, b).Dropped == 1 })

	prepare(t, b)
	for _, each := range []*peer{p, replay} {
		if v := each.result(); v.Code != native.CodeBadRequest || !strings.Contains(v.Reason, `no longer stores the stream "orders"`) {
			t.Errorf("got %+v", v)
		}
	}
	src.publish(tag, "after")
	if info, err := s.Stream.Info(t.Context()); err != nil || info.Last != 3 {
		t.Errorf("%+v, %v", info, err)
	}
	if len(b.Snapshot().Streams) != 0 {
		t.Error("a stream is left")
	}
}

// TestPrepareStreamsRefuses: what cannot change, and what is wrong, is refused by name.
func TestPrepareStreamsRefuses(t *testing.T) {
	e := newEngine(t)
	s, other := openStream(t, e, "orders", "orders/#"), openStream(t, e, "logs", "logs/#")
	b, _ := serve(t, broker.Config{Stored: []broker.Stored{s}})
	path, err := field.Parse("id")
	if err != nil {
		t.Fatal(err)
	}
	other.AtLeastOnce = false
	for _, row := range []struct {
		change func(*broker.Stored)
		want   string
	}{
		{func(s *broker.Stored) { s.AtLeastOnce = false }, `"orders": its delivery cannot change`},
		{func(s *broker.Stored) { s.Key = path }, `"orders": its key cannot change`},
		{func(s *broker.Stored) { s.Stream = nil }, "missing"},
		{func(s *broker.Stored) { s.Config.Tags = nil }, "no tags"},
		{func(s *broker.Stored) { s.MaxDeliveries = -1 }, "MaxDeliveries is -1"},
		{func(s *broker.Stored) { s.DeadLetter = "dead" }, `no stream stores the tag "dead"`},
		{func(s *broker.Stored) { s.DeadLetter = "orders/dead" }, "its own"},
		{func(s *broker.Stored) { s.DeadLetter = "logs/dead" }, `"logs", which stores the tag "logs/dead" of its dead letters, is not at-least-once`},
		{func(s *broker.Stored) { s.Config.Name = "logs" }, `two streams are named "logs"`},
	} {
		next := s
		row.change(&next)
		if _, err := b.PrepareStreams([]broker.Stored{next, other}); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("got %v, want %q", err, row.want)
		}
	}
}

// TestStoredGrantEnds: a client that may no longer subscribe to a filter loses its stored subscription.
func TestStoredGrantEnds(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	identities := func(subscribe ...string) *broker.Identities {
		t.Helper()
		known, err := broker.NewIdentities([]broker.Credential{{
			Identity: broker.Identity{Name: "shop", Publish: []string{"#"}, Subscribe: subscribe}, TokenHash: broker.HashToken([]byte("t0k")),
		}})
		if err != nil {
			t.Fatal(err)
		}
		return known
	}
	known := identities("orders/#")
	b, addr := serve(t, broker.Config{Identify: known.Identify, Stored: []broker.Stored{s}})
	b.SetIdentities(known)
	p := connect(t, addr)
	p.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 2, MaxVersion: 2, Token: []byte("t0k")}))
	p.expect(native.Welcome)
	p.subscribeStored(native.SubFrame{ID: 1, Filter: "orders/#", Durable: "work"})
	p.subscribeStored(native.SubFrame{ID: 2, Filter: "orders/#", Start: native.StartFirst})
	if v := p.subscribeStored(native.SubFrame{ID: 3, Filter: "logs/#", Start: native.StartFirst}); v.Code != native.CodeForbidden {
		t.Errorf("got %+v", v)
	}
	b.SetIdentities(identities("logs/#"))
	for range 2 {
		if v := p.result(); v.Code != native.CodeForbidden {
			t.Errorf("got %+v", v)
		}
	}
	eventually(t, "the member has left", func() bool { return workStats(t, b).State == "closed" })
}

// TestShutdownWaitsForAcks: a broker that stops gives its members no further message. It waits for the acks of those that they hold, and
// stores the position.
func TestShutdownWaitsForAcks(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	p, replay, src := worker(t, addr, 1<<20), greet2(t, addr), greet2(t, addr)
	replay.subscribeStored(native.SubFrame{Filter: "orders/#", Start: native.StartFirst})
	tag := src.tag("orders/1")
	src.publish(tag, "order 1")
	got := p.expectMessages("order 1")
	stopped := make(chan error)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		stopped <- b.Shutdown(ctx)
	}()
	src.expect(native.Goaway)
	src.publish(tag, "order 2") // is stored
	src.write(native.AppendGoaway(nil, native.GoawayFrame{}))
	p.expect(native.Goaway)
	p.silent()
	select {
	case err := <-stopped:
		t.Fatalf("Shutdown returned %v before the message was acked", err)
	case <-time.After(50 * time.Millisecond):
	}
	p.ack(got...)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	cursors, err := s.Stream.Cursors(t.Context())
	if err != nil || len(cursors) != 1 || cursors[0].Position.Floor != 1 || cursors[0].Holder != "" {
		t.Errorf("%+v, %v", cursors, err)
	}
}
