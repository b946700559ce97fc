package mqtt_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
	wire "example.com/ferry/protocol/mqtt"
	"example.com/ferry/protocol/native"
)

// TestResponseOrder: responses have the order of the messages, also if one of these has too many properties.
func TestResponseOrder(t *testing.T) {
	r := newRig(t, setup{})
	c := r.connect(wire.V5, "c")
	var b []byte
	for id := uint16(1); id <= 3; id++ {
		p := wire.PublishPacket{QoS: 1, ID: id, Topic: []byte("a"), Payload: []byte("x")}
		if id == 2 {
			p.Properties = wire.AppendUser(nil, "large", strings.Repeat("x", 1000))
		}
		var err error
		if b, err = wire.AppendPublish(b, wire.V5, &p); err != nil {
			t.Fatal(err)
		}
	}
	c.write(b)
	for id, want := range []wire.ReasonCode{wire.Success, wire.QuotaExceeded, wire.Success} {
		if a := c.ack(wire.Puback, uint16(id+1)); a.Code != want {
			t.Errorf("PUBACK of %d with %v, want %v", a.ID, a.Code, want)
		}
	}
}

// TestUnstorable: a message that the stream can never store is settled alone: the others of its write are stored once, and the device stays connected.
func TestUnstorable(t *testing.T) {
	for _, v := range versions {
		t.Run(v.String(), func(t *testing.T) {
			e := memory.New()
			t.Cleanup(func() { _ = e.Close(context.Background()) })
			cfg := engine.Config{Name: "s", Tags: []string{"stored/#"}, InMemory: true, MaxBytes: 4 << 10}
			s, err := e.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, setup{streams: map[string]broker.Stored{"s": {Stream: s, Config: cfg, AtLeastOnce: true}}})
			c := r.connect(v, "dev")
			var b []byte
			for id, size := range []int{10, 8 << 10, 20, 9 << 10, 30} {
				p := wire.PublishPacket{QoS: 1, ID: uint16(id + 1), Topic: []byte("stored/a"), Payload: make([]byte, size)}
				if b, err = wire.AppendPublish(b, v, &p); err != nil {
					t.Fatal(err)
				}
			}
			c.write(b)
			for id := uint16(1); id <= 5; id++ {
				if a := c.ack(wire.Puback, id); a.Code.Failed() != (v == wire.V5 && id%2 == 0) {
					t.Errorf("PUBACK of %d with %v", id, a.Code)
				}
			}
			c.quiet()
			if info, err := s.Info(t.Context()); err != nil || info.Records != 3 {
				t.Errorf("%+v, %v: want 3 messages", info, err)
			}
		})
	}
}

// slowSubscriber is a subscriber in the process that takes nothing until its method open is called.
type slowSubscriber struct {
	client *broker.Local
	mu     sync.Mutex
	taking bool
	got    []string // payloads
}

func (s *slowSubscriber) Deliver(_ *broker.LocalSub, run *broker.Run) (taken int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m broker.Message
	for s.taking && run.Next(&m) {
		s.got = append(s.got, string(m.Payload))
		taken++
	}
	return taken
}

func (s *slowSubscriber) Flush()                        {}
func (s *slowSubscriber) Ready(*broker.LocalTag)        {}
func (s *slowSubscriber) Opened(*broker.LocalSub)       {}
func (s *slowSubscriber) Ended(*broker.LocalSub, error) {}
func (s *slowSubscriber) Drain(string)                  { s.client.Close() }
func (s *slowSubscriber) Closed(error)                  {}

func (s *slowSubscriber) open() {
	s.mu.Lock()
	s.taking = true
	s.mu.Unlock()
	s.client.Resume()
}

func (s *slowSubscriber) payloads() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.got...)
}

// TestAliasWhileBlocked: messages that wait for credit keep their topic, also if their alias stands for another one in a later packet.
func TestAliasWhileBlocked(t *testing.T) {
	r := newRig(t, setup{broker: broker.Config{Window: 1000, Queue: 1000}})
	slow := &slowSubscriber{}
	var err error
	slow.client, err = r.broker.NewLocalListener(&net.TCPAddr{}, broker.ValidateOff).Connect(broker.LocalConfig{Handler: slow})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slow.client.Subscribe(broker.LocalSubConfig{Filter: "first", Policy: native.Block}); err != nil {
		t.Fatal(err)
	}
	other, c := r.connect(wire.V5, "other"), r.connect(wire.V5, "c")
	other.sub("second", 0)
	const count = 60 // less than a run
	var b []byte
	var want []string
	for i := range count + 1 {
		p := wire.PublishPacket{Payload: fmt.Appendf(nil, "%050d", i), Properties: wire.AppendUint(nil, wire.TopicAlias, 1)}
		switch i {
		case 0:
			p.Topic = []byte("first")
		case count:
			p.Topic = []byte("second")
		}
		if i < count {
			want = append(want, string(p.Payload))
		}
		if b, err = wire.AppendPublish(b, wire.V5, &p); err != nil {
			t.Fatal(err)
		}
	}
	c.write(b)
	await(t, "messages are taken", func() bool { n := r.server.Stats().Received[0]; return n > 0 && n < count })
	slow.open()
	other.want("second", fmt.Sprintf("%050d", count), 0)
	await(t, "all messages are delivered", func() bool { return len(slow.payloads()) == count })
	if got := slow.payloads(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
