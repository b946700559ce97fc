package mqtt_test

import (
	"bytes"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/edge/mqtt"
	"example.com/ferry/internal/descriptors"
	wire "example.com/ferry/protocol/mqtt"
)

// script is what a client sends that connects, subscribes and publishes.
func script(t *testing.T, v wire.Version) []byte {
	t.Helper()
	b, err := wire.AppendConnect(nil, &wire.ConnectPacket{
		Version: v, CleanStart: true, KeepAlive: 30, // without an identifier: connections must not end each other
		Will: &wire.Will{Topic: []byte("will"), Payload: []byte("gone")},
	})
	if err == nil {
		b, err = wire.AppendSubscribe(b, v, &wire.SubscribePacket{ID: 1, Filters: wire.AppendFilter(nil, wire.Subscription{Filter: []byte("a/+"), QoS: 2})})
	}
	for qos := range byte(3) {
		p := wire.PublishPacket{QoS: qos, Topic: []byte("a/b"), Payload: fmt.Append(nil, qos)}
		if qos > 0 {
			p.ID = uint16(qos)
		}
		if err == nil {
			b, err = wire.AppendPublish(b, v, &p)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	b = wire.AppendAck(b, v, wire.AckPacket{Kind: wire.Pubrel, ID: 2})
	return wire.AppendPingreq(b)
}

// TestCut: packets may arrive in any pieces, and the connection may end after each byte.
func TestCut(t *testing.T) {
	for _, v := range versions {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{})
			all := script(t, v)
			for cut := 1; cut < len(all); cut++ {
				c := r.dial(v)
				c.write(all[:cut])
				_ = c.conn.Close()

				c = r.dial(v)
				c.write(all[:cut])
				runtime.Gosched()
				c.write(all[cut:])
				c.read(wire.Connack)
				got := map[wire.Kind]int{}
				for got[wire.Pingresp] == 0 {
					p := c.next()
					if got[p.Kind]++; p.Kind == 0 {
						t.Fatalf("cut at %d: the connection ends after %v", cut, got)
					}
				}
				for got[wire.Publish] < 3 { // of which the last ones may follow PINGRESP
					got[c.next().Kind]++
				}
				if got[wire.Suback] != 1 || got[wire.Puback] != 1 || got[wire.Pubrec] != 1 || got[wire.Pubcomp] != 1 {
					t.Fatalf("cut at %d: got %v", cut, got)
				}
				_ = c.conn.Close()
			}
			await(t, "all connections have ended", func() bool { return r.server.Stats().Connected == 0 })
		})
	}
}

// TestConnectTimeout: a client that sends no whole CONNECT is disconnected.
func TestConnectTimeout(t *testing.T) {
	r := newRig(t, setup{listener: mqtt.ListenerConfig{Config: edge.Config{HandshakeTimeout: 20 * time.Millisecond}}})
	for _, sent := range []string{"", "\x10\x20\x00\x04MQ"} {
		c := r.dial(wire.V311)
		c.write([]byte(sent))
		c.closed()
	}
}

// TestSlowReader: a client that reads nothing costs a bounded amount of memory, delays nothing else, and is disconnected.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{broker: broker.Config{Queue: 64 << 10}, listener: mqtt.ListenerConfig{Config: edge.Config{WriteTimeout: time.Second}}})
	slow := r.connect(wire.V5, "slow")
	if err := slow.conn.(*net.TCPConn).SetReadBuffer(256 << 10); err != nil { // otherwise it may take all: tcp_rmem differs between machines
		t.Fatal(err)
	}
	slow.sub("a", 0)
	good := r.connect(wire.V5, "good")
	good.sub("last", 1)
	pub := r.connect(wire.V5, "pub")
	payload := bytes.Repeat([]byte{'x'}, 16<<10)
	// How much sockets hold differs between machines, and how much of a round reaches them, too.
	for late := time.Now().Add(patience); r.server.Stats().Connected == 3; {
		for range 100 {
			pub.send(wire.PublishPacket{Topic: []byte("a"), Payload: payload})
		}
		pub.publish("last", "1")
		good.sendAck(wire.Puback, good.want("last", "1", 1).ID)
		if time.Now().After(late) {
			t.Fatalf("the slow client is connected after %v", patience)
		}
	}
	if r.broker.Snapshot().Dropped["queue_full"] == 0 {
		t.Errorf("nothing was dropped: %v", r.broker.Snapshot().Dropped)
	}
	pub.quiet()
}

// TestSteadyReader: a client that reads is not taken for one that does not, although all its messages are of one length and each is on its way
// when the server looks.
func TestSteadyReader(t *testing.T) {
	r := newRig(t, setup{listener: mqtt.ListenerConfig{Config: edge.Config{WriteTimeout: time.Millisecond}}})
	good, pub := r.connect(wire.V5, "good"), r.connect(wire.V5, "pub")
	good.sub("a", 0)
	for range 2000 {
		pub.publish("a", "1")
		good.want("a", "1", 0)
	}
}

// TestGrants: what an identity may not do is refused with the reason, and nothing is routed.
func TestGrants(t *testing.T) {
	ids, err := broker.NewIdentities([]broker.Credential{
		{Identity: broker.Identity{Name: "dev", Publish: []string{"up/#"}, Subscribe: []string{"down/#"}}, TokenHash: broker.HashToken([]byte("secret"))},
		{Identity: broker.Identity{Name: "all", Publish: []string{"#"}, Subscribe: []string{"#"}}, TokenHash: broker.HashToken([]byte("master"))},
		{Identity: broker.Identity{Name: "guest", Subscribe: []string{"up/#"}}, Open: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, setup{broker: broker.Config{Identify: ids.Identify}, listener: mqtt.ListenerConfig{Config: edge.Config{Anonymous: "guest"}}})
	r.broker.SetIdentities(ids)
	as := func(user, password string) func(*wire.ConnectPacket) {
		return func(p *wire.ConnectPacket) { p.User, p.Password = []byte(user), []byte(password) }
	}
	all := r.connect(wire.V5, "x", as("all", "master"))
	all.sub("#", 0)
	for _, v := range versions {
		for _, bad := range [][2]string{{"dev", "wrong"}, {"all", "secret"}} {
			c := r.dial(v)
			if c.greet("x", as(bad[0], bad[1])); c.connack.Code != wire.BadUserNameOrPassword {
				t.Errorf("user %q with password %q: %v", bad[0], bad[1], c.connack.Code)
			}
		}
		c := r.dial(v)
		c.greet("x", as("dev", "secret"), func(p *wire.ConnectPacket) { p.Will = &wire.Will{Topic: []byte("down/x")} })
		if c.connack.Code != wire.NotAuthorized {
			t.Errorf("a will that is not granted: %v", c.connack.Code)
		}
		c = r.connect(v, "x", as("", "secret")) // another client than x of identity all
		for qos := range byte(3) {
			c.send(wire.PublishPacket{QoS: qos, ID: uint16(qos), Retain: true, Topic: []byte("down/x"), Payload: []byte("no")})
		}
		want := wire.NotAuthorized
		if v == wire.V311 {
			want = wire.Success // there is no other response
		}
		if a := c.ack(wire.Puback, 1); a.Code != want {
			t.Errorf("PUBACK with %v, want %v", a.Code, want)
		}
		if a := c.ack(wire.Pubrec, 2); a.Code != want {
			t.Errorf("PUBREC with %v, want %v", a.Code, want)
		}
		want = wire.NotAuthorized
		if v == wire.V311 {
			want = wire.UnspecifiedError
		}
		if code := c.subscribe(wire.Subscription{Filter: []byte("up/#")}); code != want {
			t.Errorf("SUBACK with %v, want %v", code, want)
		}
		c.send(wire.PublishPacket{QoS: 1, ID: 5, Topic: []byte("up/x"), Payload: []byte("yes")})
		c.ack(wire.Puback, 5)
		all.want("up/x", "yes", 0)
		guest := r.connect(v, "")
		guest.sub("up/x", 1)
		guest.quiet()
	}
	if s := r.server.Stats(); s.Retained != 0 || s.Refused != 6 {
		t.Errorf("%d retained messages, %d refused messages, want 0 and 6", s.Retained, s.Refused)
	}
}

// TestIdle: an idle client costs little.
func TestIdle(t *testing.T) {
	n := 10_000
	_, kept := descriptors.Limit() // the server leaves some free
	if limit := openFiles() - int(kept); limit < 2*n+200 {
		n = (limit - 200) / 2
	}
	if raceEnabled {
		n = min(n, 1000)
	}
	r := newRig(t, setup{broker: broker.Config{MaxConnections: n + 10}, server: mqtt.Config{MaxSessions: n + 10}, listener: mqtt.ListenerConfig{Config: edge.Config{MaxConnections: n + 10}}})
	memory := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc + m.StackInuse)
	}
	connect, err := wire.AppendConnect(nil, &wire.ConnectPacket{Version: wire.V311, CleanStart: true})
	if err != nil {
		t.Fatal(err)
	}
	connections := make([]net.Conn, n)
	before := memory()
	for i := range connections {
		c, err := net.Dial("tcp", r.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		connections[i] = c
		if _, err := c.Write(connect); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "all are connected", func() bool { return r.server.Stats().Connected == n })

	each := (memory() - before) / n
	t.Logf("%d idle clients: %d bytes each, with the client's side", n, each)
	if limit := 5 << 9; each > limit && !raceEnabled {
		t.Errorf("an idle client costs %d bytes with the client's side, want at most %d", each, limit)
	}
}
