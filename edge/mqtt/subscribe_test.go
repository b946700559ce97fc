package mqtt_test

import (
	"testing"

	"example.com/ferry/broker"
	wire "example.com/ferry/protocol/mqtt"
)

// TestFilterTwice: a SUBSCRIBE may have a filter twice. The last one holds, also if only the first one needs a durable.
func TestFilterTwice(t *testing.T) {
	r := newRig(t, setup{streams: map[string]broker.Stored{"s": stored(t, "stored/#")}})
	c := r.connect(wire.V5, "c", lasting)
	for range 10 {
		filters := wire.AppendFilter(nil, wire.Subscription{Filter: []byte("stored/a"), QoS: 1})
		filters = wire.AppendFilter(filters, wire.Subscription{Filter: []byte("stored/a")})
		b, err := wire.AppendSubscribe(nil, wire.V5, &wire.SubscribePacket{ID: 3, Filters: filters})
		if err != nil {
			t.Fatal(err)
		}
		c.write(b)
		v, err := wire.ParseSuback(c.read(wire.Suback))
		if err != nil || v.ID != 3 || string(v.Codes) != "\x01\x00" {
			t.Fatalf("SUBACK %+v, %v", v, err)
		}
	}
	r.connect(wire.V5, "pub").publish("stored/a", "1")
	c.want("stored/a", "1", 0)
	await(t, "the durables are removed", func() bool { return r.cursors.count(t) == 0 })
}
