package mqttbridge_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/ferry"
	"example.com/ferry/link/mqttbridge"
	"example.com/ferry/protocol/mqtt"
)

// TestOldBroker: messages pass in both directions, and outages, with a broker that speaks MQTT 3.1.1 only and says so, or says nothing.
func TestOldBroker(t *testing.T) {
	for _, silent := range []bool{false, true} {
		t.Run(fmt.Sprint("silent ", silent), func(t *testing.T) {
			n, p := newNode(t), newPeer(t)
			p.old, p.silent = true, silent
			got := n.subscribe()
			b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.Target.User, c.Target.Password = "device", []byte("secret") })
			connected(t, b)
			c := n.client()
			want := n.publish(c, 0, 50)
			p.received.expect(want...)
			p.deliver(mqtt.PublishPacket{QoS: 1, ID: 1, Topic: []byte("in/a"), Payload: []byte("1")})
			p.deliver(mqtt.PublishPacket{Topic: []byte("in/b"), Payload: []byte("2")})
			p.deliver(mqtt.PublishPacket{QoS: 1, ID: 2, Topic: []byte("in/\u0001"), Payload: []byte("x")}) // refused, which 3.1.1 cannot say
			got.expect("cloud/in/a 1", "cloud/in/b 2")
			p.acks.expect("1 success", "2 success")
			p.cut(true)
			want = append(want, n.publish(c, 50, 100)...)
			p.set(func() { p.down = false })
			p.received.expect(want...)
			eventually(t, "all are confirmed", func() bool { s := b.Stats(); return s.Confirmed == 100 && s.Spool.Messages == 0 })
			if s := b.Stats(); s.Connects != 2 || s.Dropped["topic"] != 1 {
				t.Errorf("got %+v", s)
			}
			if len(p.paths.get())+len(p.texts.get()) > 0 || p.user != "device:secret" {
				t.Errorf("properties %q, user %q", p.texts.get(), p.user)
			}
		})
	}
}

// TestOldBrokerCircle: a broker of MQTT 3.1.1 cannot leave out what the bridge itself has published. So topics in both directions are
// refused, and the error names them.
func TestOldBrokerCircle(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.old = true
	b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.Target.In = []string{"$share/g/site/#"} })
	eventually(t, "the bridge says why it is down", func() bool {
		s := b.Stats()
		return s.Err != nil && strings.Contains(s.Err.Error(), `in "$share/g/site/#" and out "out/#" have topics in common`)
	})
}

// TestOldBrokerIsBounded: a broker of MQTT 3.1.1 knows no Receive Maximum. It waits while too many of its messages are not confirmed.
func TestOldBrokerIsBounded(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.old = true
	gate := n.block("cloud/in/#")
	const most, count = 20, 100
	b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.Inflight = most })
	connected(t, b)
	var sent atomic.Int64
	go func() {
		payload := make([]byte, 64<<10)
		for i := range count {
			p.deliver(mqtt.PublishPacket{QoS: 1, ID: uint16(i + 1), Topic: []byte("in/a"), Payload: payload})
			sent.Add(1)
		}
	}()
	last, looks := int64(0), 0
	eventually(t, "the broker waits", func() bool {
		if now := sent.Load(); now != last || now == 0 {
			last, looks = now, 0
		}
		looks++
		return looks > 20
	})
	if got := sent.Load(); got > 60 { // the queue of the tag has 1 MiB
		t.Errorf("the node takes no message, and %d have left the broker", got)
	}
	gate()
	if acks := p.acks.await(count); len(acks) != count || b.Stats().Connects != 1 {
		t.Errorf("%d messages were confirmed, over %d connections", len(acks), b.Stats().Connects)
	}
}

// TestLimits: the bridge keeps to the limits in the broker's CONNACK. A message that is longer than the broker takes is dropped and counted, and costs
// the others nothing.
func TestLimits(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.limits = mqtt.AppendUint(nil, mqtt.ReceiveMaximum, 3)
	p.limits = mqtt.AppendUint(p.limits, mqtt.MaximumPacketSize, 200)
	p.withhold = true
	b := n.bridge(p.dial, nil)
	connected(t, b)
	c := n.client()
	var want []string
	for i := range 40 {
		m := ferry.Message{Tag: "out/1", Payload: []byte(fmt.Sprint(i))}
		if i%4 == 0 {
			m.Payload = make([]byte, 300)
		} else {
			want = append(want, "site/out/1 "+string(m.Payload))
		}
		if err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for i := range want {
		p.received.await(i + 1)
		p.set(func() { p.withhold = true })
		if i%3 == 2 {
			p.release()
			p.set(func() { p.withhold = true })
		}
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all are counted", func() bool {
		s := b.Stats()
		return s.Confirmed == uint64(len(want)) && s.Dropped["too_long"] == 10 && s.Unconfirmed == 0 && s.Spool.Messages == 0
	})
	if got := p.received.get(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p.set(func() {
		if p.most > 3 {
			t.Errorf("%d messages were on their way at a time", p.most)
		}
	})
}

// TestOnlyTooLong: messages that are dropped because of their length alone are settled, though there is no PUBACK.
func TestOnlyTooLong(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.limits = mqtt.AppendUint(nil, mqtt.MaximumPacketSize, 20)
	b := n.bridge(p.dial, nil)
	connected(t, b)
	n.publish(n.client(), 0, 10)
	eventually(t, "all are dropped", func() bool {
		s := b.Stats()
		return s.Dropped["too_long"] == 10 && s.Unconfirmed == 0 && s.WaitingBytes == 0
	})
}

// TestNodeStops: a node that takes no more clients leaves nothing of the connections that the bridge tries.
func TestNodeStops(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	if err := n.broker.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	var dials atomic.Int64
	before := runtime.NumGoroutine()
	b := n.bridge(func(ctx context.Context) (net.Conn, error) {
		dials.Add(1)
		return p.dial(ctx)
	}, nil)
	eventually(t, "the bridge has dialed often", func() bool { return dials.Load() >= 40 })
	closeBridge(b)
	eventually(t, "what has served the connections ends", func() bool { return runtime.NumGoroutine() < before+20 })
	if b.Stats().Connects > 0 {
		t.Error("the bridge is connected")
	}
}

// TestQoS0Only: a broker that takes no QoS 1 is refused, and the error says why.
func TestQoS0Only(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.limits = mqtt.AppendUint(nil, mqtt.MaximumQoS, 0)
	b := n.bridge(p.dial, nil)
	eventually(t, "the bridge says why it is down", func() bool {
		s := b.Stats()
		return s.Err != nil && strings.Contains(s.Err.Error(), "no messages of QoS 1")
	})
}

// TestManyFlights: packet identifiers begin again behind the last one, and each PUBACK confirms its own message.
func TestManyFlights(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	b := n.bridge(p.dial, nil)
	connected(t, b)
	const count = 70_000
	src, err := n.client().Source(t.Context(), "out/1")
	if err != nil {
		t.Fatal(err)
	}
	for range count {
		if err := src.Send(t.Context(), ferry.Message{Payload: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all are confirmed", func() bool { s := b.Stats(); return s.Confirmed == count && s.Unconfirmed == 0 })
	if s := b.Stats(); s.Connects != 1 || len(p.received.get()) != count {
		t.Errorf("%d messages have come, and got %+v", len(p.received.get()), s)
	}
}
