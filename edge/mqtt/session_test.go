package mqtt_test

import (
	"fmt"
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/edge/mqtt"
	wire "example.com/ferry/protocol/mqtt"
)

// checkAgain reads what was not acknowledged on the last connection, in any order of PUBREL and PUBLISH, and ends the exchanges. left has
// the payload, or "release", by packet identifier.
func (c *client) checkAgain(left map[uint16]string) {
	c.t.Helper()
	var others []wire.Packet
	for len(left) > 0 {
		p := c.next()
		if p.Kind == wire.Pubrel {
			a, err := wire.ParseAck(p)
			if err != nil || left[a.ID] != "release" {
				c.t.Fatalf("PUBREL of %d, %v, want one of %v", a.ID, err, left)
			}
			delete(left, a.ID)
			c.sendAck(wire.Pubcomp, a.ID)
			continue
		}
		m, err := wire.ParsePublish(p)
		if err == nil && !m.Dup {
			others = append(others, p)
			continue
		}
		if err != nil || left[m.ID] != string(m.Payload) {
			c.t.Fatalf("got %v %d %q, %v, want one of %v", p.Kind, m.ID, m.Payload, err, left)
		}
		if m.QoS == 1 {
			delete(left, m.ID)
			c.sendAck(wire.Puback, m.ID)
			continue
		}
		left[m.ID] = "release"
		c.sendAck(wire.Pubrec, m.ID)
	}
	c.held = others
}

// TestDurablesRemoved: UNSUBSCRIBE, a clean start and the end of a session remove the durables.
func TestDurablesRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{streams: map[string]broker.Stored{"s": stored(t, "stored/#")}})
	c := r.connect(wire.V5, "dev", lasting)
	for i := range 3 {
		c.sub(fmt.Sprintf("stored/%d", i), 1)
	}
	if n := r.cursors.count(t); n != 3 {
		t.Fatalf("%d durables, want 3", n)
	}
	c.unsubscribe("stored/0")
	await(t, "the durable of UNSUBSCRIBE is removed", func() bool { return r.cursors.count(t) == 2 })
	c.disconnect()
	c = r.connect(wire.V5, "dev", func(p *wire.ConnectPacket) { lasting(p); p.CleanStart = true })
	if c.connack.SessionPresent {
		t.Error("a clean start has a session")
	}
	await(t, "the durables of a clean start are removed", func() bool { return r.cursors.count(t) == 0 })
	c.sub("stored/0", 1)
	c.disconnect()
	c = r.connect(wire.V5, "dev", func(p *wire.ConnectPacket) {
		p.CleanStart = false
		p.Properties = wire.AppendUint(nil, wire.SessionExpiryInterval, 1)
	})
	if !c.connack.SessionPresent {
		t.Error("the session is gone")
	}
	c.disconnect()
	await(t, "the session has expired", func() bool { return r.server.Stats().Sessions == 0 && r.cursors.count(t) == 0 })
}

// TestRestart: sessions, retained messages and what was not acknowledged outlive the server.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	streams := map[string]broker.Stored{"s": stored(t, "stored/#")}
	c := setup{server: mqtt.Config{Dir: dir}, streams: streams}
	r := newRig(t, c)
	pub, sub := r.connect(wire.V5, "pub", lasting), r.connect(wire.V5, "sub", lasting)
	sub.sub("stored/#", 2)
	sub.sub("live", 1)
	pub.send(wire.PublishPacket{QoS: 1, ID: 1, Retain: true, Topic: []byte("r"), Payload: []byte("kept")})
	pub.ack(wire.Puback, 1)
	send := func(id uint16, payload string) wire.PublishPacket {
		p := wire.PublishPacket{QoS: 2, ID: id, Topic: []byte("stored/a"), Payload: []byte(payload)}
		pub.send(p)
		pub.ack(wire.Pubrec, id)
		return p
	}
	again := send(7, "1")
	one := sub.want("stored/a", "1", 2)
	send(8, "2")
	two := sub.want("stored/a", "2", 2)
	sub.sendAck(wire.Pubrec, two.ID)
	sub.ack(wire.Pubrel, two.ID)
	r.stop()

	r = newRig(t, c)
	pub, sub = r.connect(wire.V5, "pub", lasting), r.connect(wire.V5, "sub", lasting)
	if !pub.connack.SessionPresent || !sub.connack.SessionPresent {
		t.Fatal("a session is gone")
	}
	sub.checkAgain(map[uint16]string{one.ID: "1", two.ID: "release"})
	again.Dup = true
	pub.send(again) // it is known
	pub.ack(wire.Pubrec, 7)
	pub.publish("stored/a", "3")
	sub.want("stored/a", "3", 1)
	pub.publish("live", "4")
	sub.want("live", "4", 1)
	sub.sub("r", 0)
	sub.want("r", "kept", 0)
}

// TestEngineThatHangs: while the engine does not remove a durable, delayed wills are published and sessions are saved.
func TestEngineThatHangs(t *testing.T) {
	t.Parallel()
	hanging := make(chan struct{})
	defer close(hanging)
	r := newRig(t, setup{streams: map[string]broker.Stored{"s": stored(t, "stored/#")}, hanging: hanging})
	other := r.connect(wire.V5, "other")
	other.sub("will", 1)
	gone := r.connect(wire.V5, "gone", lasting)
	gone.sub("stored/#", 1)
	gone.unsubscribe("stored/#") // its durable is removed
	late := r.connect(wire.V5, "late", lasting, func(p *wire.ConnectPacket) {
		p.Will = &wire.Will{Topic: []byte("will"), Payload: []byte("gone"), QoS: 1, Properties: wire.AppendUint(nil, wire.WillDelayInterval, 1)}
	})
	_ = late.conn.Close()
	other.want("will", "gone", 1)
}
