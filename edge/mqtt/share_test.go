package mqtt_test

import (
	"crypto/tls"
	"fmt"
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/edge/mqtt"
	wire "example.com/ferry/protocol/mqtt"
)

// byToken gives each token an identity of its name, which may do everything.
func byToken(token []byte, _ *tls.ConnectionState) (*broker.Identity, error) {
	return &broker.Identity{Name: string(token), Publish: []string{"#"}, Subscribe: []string{"#"}}, nil
}

// as is a change of CONNECT: the client has an identity of byToken.
func as(identity string) func(*wire.ConnectPacket) {
	return func(p *wire.ConnectPacket) { p.User, p.Password = []byte(identity), []byte(identity) }
}

// TestSessionShare: sessions of one identity leave room for those of others, also those whose clients are away.
func TestSessionShare(t *testing.T) {
	for v, refused := range map[wire.Version]wire.ReasonCode{wire.V311: wire.ServerUnavailable, wire.V5: wire.QuotaExceeded} {
		t.Run(v.String(), func(t *testing.T) {
			r := newRig(t, setup{broker: broker.Config{Identify: byToken}, server: mqtt.Config{MaxSessions: 8, IdentityShare: 50}})
			last := map[string]*client{}
			connect := func(identity string, from, to int, refusedAbove string) {
				t.Helper()
				for i := from; i <= to; i++ {
					last[identity] = r.connect(v, fmt.Sprint(i), as(identity))
				}
				c := r.dial(v)
				c.greet(refusedAbove, as(identity))
				if c.connack.Code != refused {
					t.Errorf("a session above the share of %s: %v, want %v", identity, c.connack.Code, refused)
				}
				c.closed()
			}
			r.connect(v, "away", lasting, as("a")).disconnect()
			connect("a", 2, 4, "5") // a has as much as is free
			connect("b", 1, 2, "3")
			connect("c", 1, 1, "2")
			if !r.connect(v, "away", lasting, as("a")).connack.SessionPresent {
				t.Error("the client's own session is gone")
			}
			last["a"].disconnect()
			await(t, "the session has ended", func() bool { return r.server.Stats().Sessions == 6 })
			connect("d", 1, 1, "2")
			r.server.SetIdentityShare(0)
			connect("a", 5, 5, "6") // as many as all may have
		})
	}
}

// TestRetainedShare: retained messages of one identity leave room for those of another one, also after a restart.
func TestRetainedShare(t *testing.T) {
	c := setup{broker: broker.Config{Identify: byToken}, server: mqtt.Config{Dir: t.TempDir(), MaxRetained: 8, RetainedBytes: 8 << 10, IdentityShare: 50}}
	for _, stage := range []string{"first", "restarted"} {
		r := newRig(t, c)
		a, b := r.connect(wire.V5, "dev", as("a")), r.connect(wire.V5, "dev", as("b"))
		retain := func(c *client, topic string, size int, want wire.ReasonCode) {
			t.Helper()
			c.send(wire.PublishPacket{QoS: 1, ID: 1, Retain: true, Topic: []byte(topic), Payload: make([]byte, size)})
			if got := c.ack(wire.Puback, 1).Code; got != want {
				t.Errorf("%s: %s with %d bytes: %v, want %v", stage, topic, size, got, want)
			}
		}
		if stage == "first" {
			for i := range 4 {
				retain(a, fmt.Sprint("x/", i), 100, wire.Success)
			}
		}
		retain(a, "x/4", 100, wire.QuotaExceeded) // a has half
		retain(b, "y/0", 100, wire.Success)
		retain(b, "y/1", 100, wire.Success)
		retain(b, "y/2", 100, wire.QuotaExceeded)
		retain(a, "x/0", 4000, wire.QuotaExceeded)
		retain(a, "x/0", 200, wire.Success)
		retain(b, "x/0", 100, wire.QuotaExceeded)
		retain(b, "y/1", 0, wire.Success)
		retain(b, "x/0", 100, wire.Success) // counts for b from now on
		retain(b, "y/0", 0, wire.Success)
		retain(a, "x/3", 0, wire.Success)
		retain(a, "x/4", 100, wire.Success)
		retain(a, "x/4", 0, wire.Success)
		retain(b, "x/0", 0, wire.Success)
		retain(a, "x/0", 100, wire.Success)
		retain(a, "x/3", 100, wire.Success)
		if s := r.server.Stats(); s.Retained != 4 {
			t.Errorf("%s: %d retained messages, want 4", stage, s.Retained)
		}
		r.stop()
	}
}

// TestCleanStartShare: a client that begins a new session in place of its own gets it, however many sessions its identity has.
func TestCleanStartShare(t *testing.T) {
	r := newRig(t, setup{broker: broker.Config{Identify: byToken}, server: mqtt.Config{MaxSessions: 8, IdentityShare: 50}})
	r.connect(wire.V5, "away", lasting, as("a")).disconnect()
	for i := range 3 {
		r.connect(wire.V5, fmt.Sprint(i), as("a"))
	}
	for i := range 2 {
		r.connect(wire.V5, fmt.Sprint(i), as("b"))
	}
	c := r.connect(wire.V5, "away", as("a")) // a has more than is free now
	if s := r.server.Stats(); s.Sessions != 6 {
		t.Errorf("%d sessions, want 6", s.Sessions)
	}
	c.disconnect()
	await(t, "the session has ended", func() bool { return r.server.Stats().Sessions == 5 })
	c = r.dial(wire.V5)
	if c.greet("another", as("a")); c.connack.Code != wire.QuotaExceeded {
		t.Errorf("a session above the share: %v", c.connack.Code)
	}
}

// TestTakeoverShare: a client that connects again while it is connected is not refused, however many sessions its identity has.
func TestTakeoverShare(t *testing.T) {
	r := newRig(t, setup{broker: broker.Config{Identify: byToken}, server: mqtt.Config{MaxSessions: 8, IdentityShare: 50}})
	var first *client
	for i := range 4 {
		if c := r.connect(wire.V5, fmt.Sprint(i), as("a")); i == 0 {
			first = c
		}
	}
	for i := range 2 {
		r.connect(wire.V5, fmt.Sprint(i), as("b"))
	}
	r.connect(wire.V5, "0", as("a")) // a has more than is free now
	first.closed()
	if s := r.server.Stats(); s.Sessions != 6 || s.Connected != 6 {
		t.Errorf("%d sessions and %d clients, want 6", s.Sessions, s.Connected)
	}
	c := r.dial(wire.V5)
	if c.greet("another", as("a")); c.connack.Code != wire.QuotaExceeded {
		t.Errorf("a session above the share: %v", c.connack.Code)
	}
}
