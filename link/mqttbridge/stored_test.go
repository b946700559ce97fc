package mqttbridge_test

import (
	"slices"
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
	"example.com/ferry/protocol/mqtt"
)

// held is a stream that stores nothing until it is let go.
type held struct {
	engine.Stream
	appended chan struct{}
}

func (h held) Append([]engine.Record, func(error)) { h.appended <- struct{}{} }

// store has the node store what comes from the broker. wrap may change the stream.
func (n *node) store(wrap func(engine.Stream) engine.Stream) {
	n.t.Helper()
	e := memory.New()
	n.t.Cleanup(func() { _ = e.Close(n.t.Context()) })
	cfg := engine.Config{Name: "cloud", Tags: []string{"cloud/#"}, InMemory: true, MaxBytes: 1000}
	s, err := e.Open(n.t.Context(), cfg)
	if err != nil {
		n.t.Fatal(err)
	}
	set, err := n.broker.PrepareStreams([]broker.Stored{{Stream: wrap(s), Config: cfg, AtLeastOnce: true}})
	if err != nil {
		n.t.Fatal(err)
	}
	set()
}

// TestStreamRefuses: a message that the stream can never store is not sent again, and counts as dropped.
func TestStreamRefuses(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	n.store(func(s engine.Stream) engine.Stream { return s })
	b := n.bridge(p.dial, nil)
	connected(t, b)
	p.deliver(mqtt.PublishPacket{QoS: 1, ID: 1, Topic: []byte("in/a"), Payload: make([]byte, 2000)})
	p.deliver(mqtt.PublishPacket{QoS: 1, ID: 2, Topic: []byte("in/a"), Payload: []byte("x")})
	if got, want := p.acks.await(2), []string{"1 implementation specific error", "2 success"}; !slices.Equal(got, want) {
		t.Errorf("PUBACKs %q, want %q", got, want)
	}
	if s := b.Stats(); s.Dropped["refused"] != 1 || s.Connects != 1 {
		t.Errorf("got %+v", s)
	}
}

// TestStreamIsRemoved: a reload removes the stream while a message waits to be stored. The message is not confirmed, also in 3.1.1, whose
// PUBACK refuses nothing, so that the broker sends it again.
func TestStreamIsRemoved(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.old = true
	h := held{appended: make(chan struct{}, 1)}
	n.store(func(s engine.Stream) engine.Stream {
		h.Stream = s
		return h
	})
	b := n.bridge(p.dial, nil)
	connected(t, b)
	p.deliver(mqtt.PublishPacket{QoS: 1, ID: 1, Topic: []byte("in/a"), Payload: []byte("x")})
	<-h.appended
	set, err := n.broker.PrepareStreams(nil)
	if err != nil {
		t.Fatal(err)
	}
	set()
	eventually(t, "the bridge connects again", func() bool { s := b.Stats(); return s.Connects == 2 && s.Connected })
	if got := p.acks.get(); len(got) > 0 {
		t.Errorf("PUBACKs %q of a message that is not stored", got)
	}
	p.deliver(mqtt.PublishPacket{QoS: 1, ID: 1, Dup: true, Topic: []byte("in/a"), Payload: []byte("x")})
	if got := p.acks.await(1); got[0] != "1 success" {
		t.Errorf("PUBACKs %q, want a success", got)
	}
}
