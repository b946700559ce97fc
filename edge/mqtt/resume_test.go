package mqtt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/edge/mqtt"
	wire "example.com/ferry/protocol/mqtt"
)

// TestRevoked: a session whose subscription was revoked subscribes again when its client returns, if it may by then.
func TestRevoked(t *testing.T) {
	identities := func(filter string) *broker.Identities {
		ids, err := broker.NewIdentities([]broker.Credential{
			{Identity: broker.Identity{Name: "dev", Publish: []string{"#"}, Subscribe: []string{filter}}, TokenHash: broker.HashToken([]byte("secret"))},
		})
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	granted := identities("a/#")
	r := newRig(t, setup{broker: broker.Config{Identify: granted.Identify}})
	r.broker.SetIdentities(granted)
	as := func(p *wire.ConnectPacket) { lasting(p); p.Password = []byte("secret") }
	sub := r.connect(wire.V5, "sub", as)
	sub.sub("a/x", 1)
	for _, connected := range []bool{true, false} {
		if !connected {
			sub.disconnect()
			await(t, "the client has left", func() bool { return r.server.Stats().Connected == 0 })
		}
		r.broker.SetIdentities(identities("b/#"))
		if connected {
			sub.read(wire.Disconnect)
			sub.closed()
		}
		r.broker.SetIdentities(granted)
		sub = r.connect(wire.V5, "sub", as)
		if !sub.connack.SessionPresent {
			t.Fatal("the session is gone")
		}
		pub := r.connect(wire.V5, "pub", as)
		pub.publish("a/x", "1")
		sub.sendAck(wire.Puback, sub.want("a/x", "1", 1).ID)
		pub.disconnect()
	}
}

// TestSmallerPackets: a message that is on its way is left out if the client accepts no packet of its size on its next connection. It
// takes no place among those that the client has to acknowledge.
func TestSmallerPackets(t *testing.T) {
	for _, tag := range []string{"live/a", "stored/a"} {
		t.Run(tag, func(t *testing.T) {
			r := newRig(t, setup{streams: map[string]broker.Stored{"s": stored(t, "stored/#")}})
			sub, pub := r.connect(wire.V5, "sub", lasting), r.connect(wire.V5, "pub")
			sub.sub(tag, 1)
			large := strings.Repeat("x", 300)
			pub.publish(tag, large)
			sub.want(tag, large, 1)
			_ = sub.conn.Close()
			await(t, "the end of the connection", func() bool { return r.server.Stats().Connected == 1 })
			sub = r.connect(wire.V5, "sub", lasting, func(p *wire.ConnectPacket) {
				p.Properties = wire.AppendUint(p.Properties, wire.MaximumPacketSize, 200)
				p.Properties = wire.AppendUint(p.Properties, wire.ReceiveMaximum, 1)
			})
			pub.publish(tag, "short")
			sub.want(tag, "short", 1)
			if s := r.server.Stats(); s.Dropped != 1 {
				t.Errorf("%d messages were dropped, want 1", s.Dropped)
			}
		})
	}
}

// TestManyTakeovers: of many connections of one client at the same time, one stays, and it has the session.
func TestManyTakeovers(t *testing.T) {
	r := newRig(t, setup{})
	r.connect(wire.V5, "c", lasting).sub("a", 1)
	connect, err := wire.AppendConnect(nil, &wire.ConnectPacket{
		Version: wire.V5, ClientID: []byte("c"), Properties: wire.AppendUint(nil, wire.SessionExpiryInterval, 600),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		var clients []*client
		for range 10 {
			c := r.dial(wire.V5)
			c.write(connect)
			clients = append(clients, c)
		}
		served := make(chan bool, len(clients)) // whether the server has sent CONNACK
		for _, c := range clients {
			go func() {
				accepted := false
				for p := c.next(); p.Kind != 0 && p.Kind != wire.Pingresp; p = c.next() {
					switch p.Kind {
					case wire.Connack:
						accepted = true
					case wire.Publish:
						m, _ := wire.ParsePublish(p)
						c.sendAck(wire.Puback, m.ID)
						c.write(wire.AppendPingreq(nil))
					}
				}
				served <- accepted
			}()
		}
		for range len(clients) - 1 {
			<-served
		}
		pub := r.connect(wire.V5, "pub")
		pub.publish("a", "x")
		if !<-served {
			t.Fatal("the last connection has no CONNACK")
		}
		pub.disconnect()
	}
}

// TestIdentifiersAfterRestart: a message has no packet identifier of a message that the client may still take it for, also if that one was
// in memory and the server has started again.
func TestIdentifiersAfterRestart(t *testing.T) {
	c := setup{server: mqtt.Config{Dir: t.TempDir()}, streams: map[string]broker.Stored{"s": stored(t, "stored/#")}}
	r := newRig(t, c)
	send := func(tag, payload string) {
		pub := r.connect(wire.V5, "pub")
		pub.send(wire.PublishPacket{QoS: 2, ID: 1, Topic: []byte(tag), Payload: []byte(payload)})
		pub.ack(wire.Pubrec, 1)
		pub.disconnect()
	}
	sub := r.connect(wire.V5, "sub", lasting)
	sub.sub("stored/a", 2)
	sub.sub("live/a", 2)
	send("stored/a", "1")
	kept := sub.want("stored/a", "1", 2)
	send("live/a", "2")
	lost := sub.want("live/a", "2", 2)
	r.stop()

	r = newRig(t, c)
	sub = r.connect(wire.V5, "sub", lasting)
	if again := sub.want("stored/a", "1", 2); again.ID != kept.ID || !again.Dup {
		t.Errorf("packet %d, DUP %v, want %d again", again.ID, again.Dup, kept.ID)
	}
	send("live/a", "3")
	if m := sub.want("live/a", "3", 2); m.ID == lost.ID || m.ID == kept.ID {
		t.Errorf("a new message has the packet identifier %d of another one", m.ID)
	}
}

// TestStopWithoutWills: when the node stops, it publishes no wills: the clients have not left.
func TestStopWithoutWills(t *testing.T) {
	c := setup{server: mqtt.Config{Dir: t.TempDir()}}
	r := newRig(t, c)
	for _, delay := range []uint32{0, 500} {
		c := r.connect(wire.V5, fmt.Sprint("delay ", delay), lasting, func(p *wire.ConnectPacket) {
			p.Will = &wire.Will{Retain: true, Topic: fmt.Append(nil, "will/", delay), Payload: []byte("gone")}
			p.Will.Properties = wire.AppendUint(nil, wire.WillDelayInterval, delay)
		})
		c.publish("a", "x") // the broker waits until the client has left
	}
	r.stop()
	if s := r.server.Stats(); s.Wills != 0 || s.Retained != 0 {
		t.Errorf("%d wills were published, %d messages are retained", s.Wills, s.Retained)
	}
}

// TestReturnSaved: once a client has returned, the saved session has no time at which it ends: if the process is killed later, it is
// still there.
func TestReturnSaved(t *testing.T) {
	t.Parallel()
	c := setup{server: mqtt.Config{Dir: t.TempDir()}}
	r := newRig(t, c)
	away := func() bool {
		b, err := os.ReadFile(filepath.Join(c.server.Dir, "sessions.json"))
		return err == nil && strings.Contains(string(b), `"expires":`)
	}
	sub := r.connect(wire.V5, "sub", lasting)
	sub.sub("a", 1)
	sub.disconnect()
	await(t, "the session is saved", away)
	r.connect(wire.V5, "sub", lasting)
	await(t, "the return of the client is saved", func() bool { return !away() })
}
