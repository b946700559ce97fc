package mqtt_test

import (
	"testing"

	"example.com/ferry/broker"
	wire "example.com/ferry/protocol/mqtt"
)

// TestPredicate: the user property where of SUBSCRIBE is a predicate.
func TestPredicate(t *testing.T) {
	r := newRig(t, setup{streams: map[string]broker.Stored{"s": stored(t, "stored/#")}})
	pub := r.connect(wire.V5, "pub")
	for _, tag := range []string{"live/a", "stored/a"} {
		sub := r.connect(wire.V5, "sub", lasting)
		where := func(predicate string) wire.Properties { return wire.AppendUser(nil, "where", predicate) }
		if code := sub.subscribe(wire.Subscription{Filter: []byte(tag), QoS: 1}, where("value >")); code != wire.TopicFilterInvalid {
			t.Errorf("a wrong predicate: %v", code)
		}
		sub.subscribe(wire.Subscription{Filter: []byte(tag), QoS: 1}, where("value > 30"))
		pub.publish(tag, `{"value":1}`)
		pub.publish(tag, `not json`)
		pub.publish(tag, `{"value":31}`)
		sub.sendAck(wire.Puback, sub.want(tag, `{"value":31}`, 1).ID)
		sub.disconnect()
	}
}
