package mqtt

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/internal/mqttmessage"
	wire "example.com/ferry/protocol/mqtt"
)

// TestExpiry: a message is sent with what is left of its expiry interval, also when it is sent again. One that has expired is not sent for
// the first time, but is repeated.
func TestExpiry(t *testing.T) {
	for name, sequence := range map[string]uint64{"routed": 0, "stored": 7} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testExpiry(t, sequence) }) })
	}
}

func testExpiry(t *testing.T, sequence uint64) {
	x := &sub{tags: "#", qos: 1, ready: true, opened: true, id: 5}
	s := &session{
		server: &Server{cfg: Config{MaxInFlight: 8, Queue: 1 << 20}}, conn: &conn{}, lifetime: time.Hour, subs: x,
		peer: peerLimits{version: wire.V5, receiveMax: 8},
	}
	ps := wire.AppendUint(wire.AppendText(nil, wire.ContentType, "text/plain"), wire.MessageExpiryInterval, 10)
	publish := func(sequence uint64) *broker.Message {
		return &broker.Message{
			Tag: "a", Payload: []byte("x"), Sequence: sequence, Time: time.Now().UnixNano(),
			Extension: mqttmessage.AppendEntry(nil, mqttmessage.Entry{Known: true, QoS: 1, Properties: ps}),
		}
	}
	first, late := publish(sequence), publish(0)
	time.Sleep(2500 * time.Millisecond) // it waits before it is sent
	if !s.take(x, first) {
		t.Fatal("the session does not take a message")
	}
	sent := s.sentPublish(t)
	s.checkExpiry(t, &sent, 8)
	for _, step := range []struct {
		wait time.Duration
		left uint32
	}{{4 * time.Second, 4}, {3490 * time.Millisecond, 1}, {10 * time.Millisecond, 0}, {time.Hour, 0}} {
		time.Sleep(step.wait)
		s.flights.at(0).sent, s.repeating = false, true // the next connection
		s.resend()
		if sequence > 0 && !s.take(x, first) { // the durable delivers it again
			t.Fatal("the session does not take a message again")
		}
		again := s.sentPublish(t)
		if again.ID != sent.ID || !again.Dup {
			t.Errorf("got packet %d, DUP %v, want packet %d, which is repeated", again.ID, again.Dup, sent.ID)
		}
		s.checkExpiry(t, &again, step.left)
	}
	if !s.take(x, late) || s.out != nil || s.server.counters.dropped.Load() != 1 {
		t.Errorf("a message that has expired is sent, or not counted: %d dropped", s.server.counters.dropped.Load())
	}
	s.flights.settle(s.flights.at(0))
}

// sentPublish takes the only packet that waits for the loop.
func (s *session) sentPublish(t *testing.T) wire.PublishPacket {
	t.Helper()
	if s.out == nil {
		t.Fatal("nothing was sent")
	}
	b := append([]byte(nil), s.out.B...)
	s.out.Release()
	s.out = nil
	packet, need, err := wire.Next(b, wire.Limits{Version: wire.V5, FromServer: true})
	if err != nil || need > 0 || packet.Size != len(b) {
		t.Fatalf("got %x, which is no single packet: %v", b, err)
	}
	p, err := wire.ParsePublish(packet)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s *session) checkExpiry(t *testing.T, p *wire.PublishPacket, want uint32) {
	t.Helper()
	left, ok := p.Properties.Uint(wire.MessageExpiryInterval)
	contentType, _ := p.Properties.Text(wire.ContentType)
	id, _ := p.Properties.Uint(wire.SubscriptionIdentifier)
	if !ok || left != want || string(contentType) != "text/plain" || id != 5 {
		t.Errorf("expiry interval %d (%v), content type %q, subscription %d; want %d, text/plain and 5", left, ok, contentType, id, want)
	}
}

// TestExpiryClock: after the system's clock was set back, a message is not sent with a longer interval than it was published with.
func TestExpiryClock(t *testing.T) {
	for _, published := range []uint32{10, math.MaxUint32} {
		ps := wire.AppendUint(nil, wire.MessageExpiryInterval, published)
		expires := time.Now().Add(time.Duration(published)*time.Second + time.Hour).UnixNano()
		left, expired := remaining(ps, expires)
		if got, _ := left.Uint(wire.MessageExpiryInterval); expired || got != published {
			t.Errorf("expiry interval %d, expired %v, want %d", got, expired, published)
		}
	}
}

// TestRetainedExpiry: a retained message is sent with what is left of its interval, and not after that.
func TestRetainedExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &Server{}
		store := &server.retained
		store.limit, store.owned = usage{8, 1 << 20}, map[string]usage{}
		ps := wire.AppendUint(nil, wire.MessageExpiryInterval, 10)
		store.set(newRetained("i", "a", &mqttmessage.Entry{Known: true, Properties: ps}, []byte("x")), 100)
		time.Sleep(4 * time.Second)
		x := &sub{tags: "a"}
		s := &session{server: server, conn: &conn{}, subs: x, peer: peerLimits{version: wire.V5}, exchange: &exchange{}}
		s.walkRetained(x)
		s.sendRetained()
		if s.out == nil || len(s.retained) != 0 {
			t.Fatal("the retained message is not sent")
		}
		packet, _, err := wire.Next(s.out.B, wire.Limits{Version: wire.V5, FromServer: true})
		if err != nil {
			t.Fatal(err)
		}
		p, err := wire.ParsePublish(packet)
		if left, _ := p.Properties.Uint(wire.MessageExpiryInterval); err != nil || left != 6 {
			t.Errorf("expiry interval %d, %v, want 6", left, err)
		}
		s.release()
		time.Sleep(6 * time.Second)
		s.walkRetained(x)
		s.sendRetained()
		store.removeExpired()
		if s.out != nil || len(store.list) != 0 || store.all != (usage{}) {
			t.Errorf("an expired message is sent, or stays: %+v", store.all)
		}
	})
}

// TestRestoreWithoutRoom: a retained message that was refused is removed, also if there is no room any more for the former one.
func TestRestoreWithoutRoom(t *testing.T) {
	store := &retainedStore{limit: usage{8, 1000}, owned: map[string]usage{}}
	message := func(tag string, size int) *retainedMessage {
		return &retainedMessage{tag: tag, identity: "i", payload: make([]byte, size)}
	}
	store.set(message("a", 500), 100)
	refused := message("a", 1)
	before, _ := store.set(refused, 100)
	if _, ok := store.set(message("b", 500), 100); !ok {
		t.Fatal("there is no room for a second message")
	}
	store.restore(refused, before)
	if got := store.list; len(got) != 1 || got[0].tag != "b" || store.all != got[0].usage() || store.owned["i"] != store.all {
		t.Errorf("%d messages, %+v, %+v of the identity", len(got), store.all, store.owned["i"])
	}
}
