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

// TestNoLocalOfRetained: a subscription with No Local gets nothing that its own client has retained, also on an earlier connection and before a restart. MQTT 5.0,
// section 3.8.3.1.
func TestNoLocalOfRetained(t *testing.T) {
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
}
