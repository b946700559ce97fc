package mqtt_test

import (
	"fmt"
	"testing"

	"example.com/ferry/broker"
	wire "example.com/ferry/protocol/mqtt"
)

// TestQoS: each QoS of the publisher meets each QoS of the subscriber, on a tag that is routed and on one that is stored.
func TestQoS(t *testing.T) {
	for _, v := range versions {
		t.Run(v.String(), func(t *testing.T) {
			r := newRig(t, setup{streams: map[string]broker.Stored{"s": stored(t, "stored/#")}})
			pub := r.connect(v, "pub")
			for _, tag := range []string{"live/a", "stored/a"} {
				for sq := range byte(3) {
					sub := r.connect(v, fmt.Sprint("sub", sq))
					sub.sub(tag, sq)
					for pq := range byte(3) {
						payload := fmt.Sprintf(`{"n":%d}`, pq)
						p := wire.PublishPacket{QoS: pq, Topic: []byte(tag), Payload: []byte(payload)}
						if pq > 0 {
							p.ID = 100 + uint16(pq)
						}
						pub.send(p)
						switch pq {
						case 1:
							pub.ack(wire.Puback, p.ID)
						case 2:
							pub.ack(wire.Pubrec, p.ID)
							pub.sendAck(wire.Pubrel, p.ID)
							pub.ack(wire.Pubcomp, p.ID)
						}
						got := sub.want(tag, payload, min(sq, pq))
						switch got.QoS {
						case 1:
							sub.sendAck(wire.Puback, got.ID)
						case 2:
							sub.sendAck(wire.Pubrec, got.ID)
							sub.ack(wire.Pubrel, got.ID)
							sub.sendAck(wire.Pubcomp, got.ID)
						}
					}
					sub.quiet()
					sub.disconnect()
				}
			}
		})
	}
}

// TestExactlyOnce: a message with QoS 2 that the client repeats is published once, also on the next connection.
func TestExactlyOnce(t *testing.T) {
	for _, v := range versions {
		r := newRig(t, setup{})
		sub := r.connect(v, "sub")
		sub.sub("a", 2)
		pub := r.connect(v, "pub", lasting)
		p := wire.PublishPacket{QoS: 2, ID: 5, Topic: []byte("a"), Payload: []byte("1")}
		pub.send(p)
		pub.ack(wire.Pubrec, 5)
		p.Dup = true
		pub.send(p)
		pub.ack(wire.Pubrec, 5)
		_ = pub.conn.Close()
		pub = r.connect(v, "pub", lasting)
		if !pub.connack.SessionPresent {
			t.Error("the session is gone")
		}
		pub.send(p)
		pub.ack(wire.Pubrec, 5)
		pub.sendAck(wire.Pubrel, 5)
		pub.ack(wire.Pubcomp, 5)
		p.Payload, p.Dup = []byte("2"), false
		pub.send(p)
		pub.ack(wire.Pubrec, 5)
		first := sub.want("a", "1", 2)
		second := sub.want("a", "2", 2)
		if first.ID == second.ID {
			t.Errorf("both messages have the packet identifier %d", first.ID)
		}
	}
}

// TestRetained: a new subscription gets the retained message of each topic, as Retain Handling says.
func TestRetained(t *testing.T) {
	r := newRig(t, setup{})
	pub := r.connect(wire.V5, "pub")
	for _, tag := range []string{"a/1", "a/2", "b"} {
		pub.send(wire.PublishPacket{QoS: 1, ID: 1, Retain: true, Topic: []byte(tag), Payload: []byte("of " + tag)})
		pub.ack(wire.Puback, 1)
	}
	pub.send(wire.PublishPacket{QoS: 1, ID: 1, Retain: true, Topic: []byte("a/2")}) // removes it
	pub.ack(wire.Puback, 1)
	sub := r.connect(wire.V5, "sub")
	filter := wire.Subscription{Filter: []byte("a/+"), QoS: 1, RetainHandling: 1}
	sub.subscribe(filter)
	if got := sub.want("a/1", "of a/1", 1); !got.Retain {
		t.Error("a retained message without the flag")
	}
	sub.subscribe(filter)
	sub.quiet()
	filter.RetainHandling = 0
	sub.subscribe(filter)
	sub.want("a/1", "of a/1", 1)
	filter.RetainHandling, filter.Filter = 2, []byte("b")
	sub.subscribe(filter)
	sub.quiet()
	pub.send(wire.PublishPacket{QoS: 1, ID: 1, Retain: true, Topic: []byte("b"), Payload: []byte("new")})
	if got := sub.want("b", "new", 1); got.Retain {
		t.Error("a live message has the flag of a retained one")
	}
}

// TestProperties: receivers get the properties of a message.
func TestProperties(t *testing.T) {
	r := newRig(t, setup{streams: map[string]broker.Stored{"s": stored(t, "stored/#")}})
	pub, sub := r.connect(wire.V5, "pub"), r.connect(wire.V5, "sub", lasting)
	id := wire.AppendUint(nil, wire.SubscriptionIdentifier, 300)
	sub.subscribe(wire.Subscription{Filter: []byte("live/#"), QoS: 1}, id)
	sub.subscribe(wire.Subscription{Filter: []byte("stored/#"), QoS: 1}, id)
	var ps wire.Properties
	ps = wire.AppendUint(ps, wire.PayloadFormatIndicator, 1)
	ps = wire.AppendText(ps, wire.ContentType, "text/plain")
	ps = wire.AppendText(ps, wire.ResponseTopic, "reply/1")
	ps = wire.AppendText(ps, wire.CorrelationData, "\x00\x01")
	ps = wire.AppendUser(ps, "b", "2")
	ps = wire.AppendUser(ps, "a", "1")
	ps = wire.AppendUser(ps, "b", "3")
	for _, tag := range []string{"live/x", "stored/x"} {
		pub.send(wire.PublishPacket{QoS: 1, ID: 1, Topic: []byte(tag), Payload: []byte("{not json"), Properties: wire.AppendUint(ps[:len(ps):len(ps)], wire.TopicAlias, 1)})
		pub.ack(wire.Puback, 1)
		got := sub.want(tag, "{not json", 1)
		if want := wire.AppendUint(ps[:len(ps):len(ps)], wire.SubscriptionIdentifier, 300); string(got.Properties) != string(want) {
			t.Errorf("got properties %x, want %x", got.Properties, want)
		}
		sub.sendAck(wire.Puback, got.ID)
		pub.send(wire.PublishPacket{QoS: 1, ID: 1, Payload: []byte("by alias"), Properties: wire.AppendUint(nil, wire.TopicAlias, 1)})
		pub.ack(wire.Puback, 1)
		sub.sendAck(wire.Puback, sub.want(tag, "by alias", 1).ID)
	}
}

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

// TestTakeover: the second connection of a client ends the first one, and has its session.
func TestTakeover(t *testing.T) {
	for _, v := range versions {
		r := newRig(t, setup{})
		first := r.connect(v, "one", lasting)
		first.sub("a", 1)
		second := r.connect(v, "one", lasting)
		if !second.connack.SessionPresent {
			t.Error("the session is not the one of the first connection")
		}
		if v == wire.V5 {
			d, err := wire.ParseDisconnect(first.read(wire.Disconnect))
			if err != nil || d.Code != wire.SessionTakenOver {
				t.Errorf("got %v, %v", d.Code, err)
			}
		}
		first.closed()
		second.send(wire.PublishPacket{QoS: 1, ID: 1, Topic: []byte("a"), Payload: []byte("x")})
		second.want("a", "x", 1) // it is routed before PUBACK
		second.ack(wire.Puback, 1)
	}
}
