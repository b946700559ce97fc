package mqtt_test

import (
	"bytes"
	"fmt"
	"testing"

	"example.com/ferry/edge/mqtt"
	wire "example.com/ferry/protocol/mqtt"
)

// TestOneFilterManyTimes: one SUBSCRIBE repeats a filter as often as a packet has room. Each retained message comes once, and what exceeds the
// number of filters in a packet is refused.
func TestOneFilterManyTimes(t *testing.T) {
	const repeats, retained = 20_000, 500
	r := newRig(t, setup{listener: mqtt.ListenerConfig{MaxPacket: 1 << 20}})
	pub := r.connect(wire.V5, "pub")
	for i := range retained {
		pub.send(wire.PublishPacket{QoS: 1, ID: 1, Retain: true, Topic: fmt.Appendf(nil, "t/%d", i), Payload: []byte("x")})
		pub.ack(wire.Puback, 1)
	}
	c := r.connect(wire.V5, "c")
	var filters wire.Filters
	for range repeats {
		filters = wire.AppendFilter(filters, wire.Subscription{Filter: []byte("#")})
	}
	packet, err := wire.AppendSubscribe(nil, wire.V5, &wire.SubscribePacket{ID: 7, Filters: filters})
	if err != nil {
		t.Fatal(err)
	}
	c.write(packet)
	suback, err := wire.ParseSuback(c.read(wire.Suback))
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(suback.Codes, []byte{byte(wire.QuotaExceeded)}); len(suback.Codes) != repeats || got != repeats-1024 || suback.Codes[0] != 0 {
		t.Errorf("%d codes, of which %d say quota exceeded, want %d and %d", len(suback.Codes), got, repeats, repeats-1024)
	}
	seen := map[string]bool{}
	for range retained {
		m := c.message()
		if !m.Retain || seen[string(m.Topic)] {
			t.Fatalf("%s came twice, or is not retained", m.Topic)
		}
		seen[string(m.Topic)] = true
	}
	c.quiet()
}

// TestNoLocalOfRetainedAndWill: a subscription with No Local gets neither what its own client has retained, also on an earlier connection and before a
// restart, nor the client's will. MQTT 5.0, section 3.8.3.1.
func TestNoLocalOfRetainedAndWill(t *testing.T) {
	dir := t.TempDir()
	local := wire.Subscription{Filter: []byte("#"), QoS: 1, NoLocal: true}
	for _, stage := range []string{"before a restart", "after it"} {
		r := newRig(t, setup{server: mqtt.Config{Dir: dir}})
		if stage == "before a restart" {
			own := r.connect(wire.V5, "own")
			own.send(wire.PublishPacket{QoS: 1, ID: 1, Retain: true, Topic: []byte("of/own"), Payload: []byte("x")})
			own.ack(wire.Puback, 1)
			own.disconnect()
			other := r.connect(wire.V5, "other")
			other.send(wire.PublishPacket{QoS: 1, ID: 1, Retain: true, Topic: []byte("of/other"), Payload: []byte("x")})
			other.ack(wire.Puback, 1)
		}
		own := r.connect(wire.V5, "own")
		own.subscribe(local)
		own.want("of/other", "x", 1)
		own.quiet()
		r.stop()
	}

	r := newRig(t, setup{})
	own := r.connect(wire.V5, "own", lasting, func(p *wire.ConnectPacket) {
		p.Will = &wire.Will{Topic: []byte("will"), Payload: []byte("gone"), QoS: 1, Retain: true}
	})
	own.subscribe(local)
	other := r.connect(wire.V5, "other")
	other.sub("#", 1)
	_ = own.conn.Close()
	other.want("will", "gone", 1)
	own = r.connect(wire.V5, "own", lasting)
	own.quiet()
}

// TestMalformedFilter: MQTT 5.0 has a reason code for it; MQTT 3.1.1 closes the connection, section 4.8.
func TestMalformedFilter(t *testing.T) {
	r := newRig(t, setup{})
	for _, filter := range []string{"a/#/b", "a+", "#a"} {
		c := r.connect(wire.V5, "five")
		if code := c.subscribe(wire.Subscription{Filter: []byte(filter)}); code != wire.TopicFilterInvalid {
			t.Errorf("%s: reason code %v, want %v", filter, code, wire.TopicFilterInvalid)
		}
		c.disconnect()
		c = r.connect(wire.V311, "three")
		packet, err := wire.AppendSubscribe(nil, wire.V311, &wire.SubscribePacket{ID: 1, Filters: wire.AppendFilter(nil, wire.Subscription{Filter: []byte(filter)})})
		if err != nil {
			t.Fatal(err)
		}
		c.write(packet)
		c.closed()
	}
}
