package mqtt_test

import (
	"bytes"
	"fmt"
	"testing"

	wire "example.com/ferry/protocol/mqtt"
)

// accepts is a change of CONNECT: the client accepts packets of so many bytes.
func accepts(n int) func(*wire.ConnectPacket) {
	return func(p *wire.ConnectPacket) {
		p.Properties = wire.AppendUint(p.Properties, wire.MaximumPacketSize, uint32(n))
	}
}

// hello writes CONNECT without waiting.
func (c *client) hello(change ...func(*wire.ConnectPacket)) {
	c.t.Helper()
	p := wire.ConnectPacket{Version: wire.V5, CleanStart: true}
	for _, f := range change {
		f(&p)
	}
	b, err := wire.AppendConnect(nil, &p)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(b)
}

// TestSmallConnack: CONNACK is never larger than the client accepts. What it can do without is left out, and then the connection ends.
func TestSmallConnack(t *testing.T) {
	r := newRig(t, setup{})
	var got []string
	for n := 1; n <= 60; n++ {
		c := r.dial(wire.V5)
		c.hello(accepts(n))
		p := c.next()
		what := "nothing"
		if p.Kind != 0 {
			v, err := wire.ParseConnack(p)
			if err != nil || p.Size > n {
				t.Fatalf("with at most %d bytes: %d bytes, %v", n, p.Size, err)
			}
			_, aliases := v.Properties.Uint(wire.TopicAliasMaximum)
			what = fmt.Sprint(v.Code, ", aliases ", aliases)
			if _, assigned := v.Properties.Text(wire.AssignedClientIdentifier); v.Code == wire.Success && !assigned {
				t.Errorf("with at most %d bytes: no client identifier", n)
			}
		}
		if len(got) == 0 || got[len(got)-1] != what {
			got = append(got, what)
		}
		_ = c.conn.Close()
	}
	want := []string{"nothing", "packet too large, aliases false", "success, aliases false", "success, aliases true"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSmallRefusal: a refusal has its reason only if the client accepts a packet of that size.
func TestSmallRefusal(t *testing.T) {
	r := newRig(t, setup{})
	for n, reason := range map[int]bool{4: false, 5: false, 40: false, 400: true} {
		c := r.dial(wire.V5)
		c.hello(accepts(n), func(p *wire.ConnectPacket) {
			p.Properties = wire.AppendText(p.Properties, wire.AuthenticationMethod, "none-that-is-known")
		})
		p := c.next()
		if n == 4 {
			if p.Kind != 0 {
				t.Errorf("with at most %d bytes: %v", n, p.Kind)
			}
			continue
		}
		v, err := wire.ParseConnack(p)
		_, got := v.Properties.Text(wire.ReasonString)
		if err != nil || v.Code != wire.BadAuthenticationMethod || got != reason || p.Size > n {
			t.Errorf("with at most %d bytes: %v with %d bytes, reason %v, %v", n, v.Code, p.Size, got, err)
		}
		c.closed()
	}
}

// TestSmallSuback: a client whose SUBACK or UNSUBACK would be larger than it accepts is disconnected.
func TestSmallSuback(t *testing.T) {
	r := newRig(t, setup{})
	filters := func(n int) (subscribe wire.Filters, unsubscribe wire.Topics) {
		for i := range n {
			filter := fmt.Sprintf("f/%d", i)
			subscribe = wire.AppendFilter(subscribe, wire.Subscription{Filter: []byte(filter)})
			unsubscribe = wire.AppendTopic(unsubscribe, filter)
		}
		return subscribe, unsubscribe
	}
	const limit = 60
	most := limit - 5
	for _, n := range []int{most, most + 1} {
		for _, kind := range []wire.Kind{wire.Suback, wire.Unsuback} {
			c := r.connect(wire.V5, "dev", accepts(limit), lasting)
			subscribe, unsubscribe := filters(n)
			b, err := wire.AppendSubscribe(nil, wire.V5, &wire.SubscribePacket{ID: 1, Filters: subscribe})
			if kind == wire.Unsuback {
				b, err = wire.AppendUnsubscribe(nil, wire.V5, &wire.UnsubscribePacket{ID: 1, Topics: unsubscribe})
			}
			if err != nil {
				t.Fatal(err)
			}
			c.write(b)
			if n == most {
				if p := c.read(kind); p.Size != limit {
					t.Errorf("%v with %d codes has %d bytes, want %d", kind, n, p.Size, limit)
				}
				c.unsubscribe("f/0")
				c.disconnect()
				continue
			}
			d, err := wire.ParseDisconnect(c.read(wire.Disconnect))
			if err != nil || d.Code != wire.PacketTooLarge {
				t.Errorf("%v with %d codes: DISCONNECT with %v, %v", kind, n, d.Code, err)
			}
			c.closed()
		}
	}
}

// TestLargestPublish: a client gets each message up to the size that it accepts, and none above. A message that is too large with a topic
// alias comes without one.
func TestLargestPublish(t *testing.T) {
	r := newRig(t, setup{})
	const limit = 150
	topic := []byte("a/long/topic/that/has/thirty/b")
	aliases := func(p *wire.ConnectPacket) { p.Properties = wire.AppendUint(p.Properties, wire.TopicAliasMaximum, 5) }
	for name, row := range map[string]struct {
		change     func(*wire.ConnectPacket)
		properties wire.Properties
		alias      bool
	}{
		"plain":      {func(*wire.ConnectPacket) {}, nil, false},
		"identifier": {func(*wire.ConnectPacket) {}, wire.AppendUint(nil, wire.SubscriptionIdentifier, 300), false},
		"alias":      {aliases, nil, true},
		"both":       {aliases, wire.AppendUint(nil, wire.SubscriptionIdentifier, 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			sub, pub := r.connect(wire.V5, "sub", accepts(limit), row.change), r.connect(wire.V5, "pub")
			if code := sub.subscribe(wire.Subscription{Filter: topic}, row.properties); code != wire.Success {
				t.Fatalf("SUBSCRIBE: %v", code)
			}
			whole := wire.PublishPacket{Topic: topic, Properties: row.properties}
			most := limit - wire.PublishSize(wire.V5, &whole) - 1 // of a payload: the length takes a byte more
			for n := most + 1; n >= most-20; n-- {
				pub.send(wire.PublishPacket{Topic: topic, Payload: bytes.Repeat([]byte("x"), n)})
			}
			for n := most; n >= most-20; n-- {
				packet := sub.read(wire.Publish)
				p, err := wire.ParsePublish(packet)
				if err != nil || packet.Size > limit || len(p.Payload) != n {
					t.Fatalf("a packet of %d bytes with a payload of %d bytes, want %d; %v", packet.Size, len(p.Payload), n, err)
				}
				if _, alias := p.Properties.Uint(wire.TopicAlias); n == most-20 && alias != row.alias {
					t.Errorf("topic alias: %v", alias)
				}
			}
			sub.disconnect()
			pub.disconnect()
		})
	}
}
