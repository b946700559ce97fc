package mqtt_test

import (
	"bytes"
	"fmt"
	"net"
	"runtime"
	"strings"
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

// TestHostile: bytes that are not MQTT end the connection, with the response that the version has, and nothing else.
func TestHostile(t *testing.T) {
	r := newRig(t, setup{listener: mqtt.ListenerConfig{MaxPacket: 2000}})
	for _, row := range []struct {
		name  string
		bytes string
		code  wire.ReasonCode // of DISCONNECT in 5.0
	}{
		{"a second CONNECT", "\x10\x00", wire.ProtocolError},
		{"a reserved type", "\x00\x00", wire.MalformedPacket},
		{"a packet of servers", "\x20\x02\x00\x00", wire.ProtocolError},
		{"QoS 3", "\x36\x05\x00\x01a\x00\x01", wire.MalformedPacket},
		{"a length of five bytes", "\x30\xff\xff\xff\xff\x01", wire.MalformedPacket},
		{"a packet that is too large", "\x30\xff\xff\x03", wire.PacketTooLarge},
		{"a wildcard in a topic", "\x30\x04\x00\x01#\x00", wire.TopicNameInvalid},
		{"an alias above the maximum", "\x30\x06\x00\x00\x03\x23\xff\xff", wire.TopicAliasInvalid},
		{"an alias of no topic", "\x30\x06\x00\x00\x03\x23\x00\x02", wire.ProtocolError},
		{"SUBSCRIBE without a filter", "\x82\x03\x00\x01\x00", wire.ProtocolError},
		{"AUTH", "\xf0\x00", wire.ProtocolError},
		{"a longer session at the end", "\xe0\x07\x00\x05\x11\x00\x00\x00\x09", wire.ProtocolError},
	} {
		c := r.connect(wire.V5, "hostile")
		c.write([]byte(row.bytes))
		d, err := wire.ParseDisconnect(c.read(wire.Disconnect))
		if err != nil || d.Code != row.code {
			t.Errorf("%s: DISCONNECT with %v, %v, want %v", row.name, d.Code, err, row.code)
		}
		c.closed()
		if row.name == "AUTH" || strings.Contains(row.name, "alias") || strings.Contains(row.name, "longer") {
			continue // 3.1.1 has none
		}
		c = r.connect(wire.V311, "hostile")
		c.write([]byte(row.bytes))
		c.closed()
	}
	for _, first := range []string{"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\x00\x01", "\x10\xff\xff\xff\x7f", "\x10\x05\x00\x04MQTX", "\x30\x00", "\xe0\x00"} {
		c := r.dial(wire.V311)
		c.write([]byte(first))
		c.closed()
	}
	await(t, "all connections have ended", func() bool { return r.server.Stats().Connected == 0 })
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

// TestKeepAlive: a client that is silent for one and a half times its keep alive is disconnected, and its will is published.
func TestKeepAlive(t *testing.T) {
	r := newRig(t, setup{})
	sub := r.connect(wire.V5, "sub")
	sub.sub("will", 0)
	c := r.connect(wire.V5, "silent", func(p *wire.ConnectPacket) {
		p.KeepAlive = 1
		p.Will = &wire.Will{Topic: []byte("will"), Payload: []byte("silent")}
	})
	if d, err := wire.ParseDisconnect(c.read(wire.Disconnect)); err != nil || d.Code != wire.KeepAliveTimeout {
		t.Errorf("DISCONNECT with %v, %v", d.Code, err)
	}
	sub.want("will", "silent", 0)
}

// TestSlowReader: a client that reads nothing costs a bounded amount of memory, delays nothing else, and is disconnected.
func TestSlowReader(t *testing.T) {
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

// TestServerReceiveMaximum: a client that has more messages on their way than CONNACK says is told so, and one that has as many as it says is not.
func TestServerReceiveMaximum(t *testing.T) {
	r := newRig(t, setup{server: mqtt.Config{MaxInFlight: 4}})
	c := r.connect(wire.V5, "dev", lasting)
	publish := func(id uint16) {
		c.send(wire.PublishPacket{QoS: 2, ID: id, Topic: []byte("a"), Payload: []byte("x")})
	}
	for id := uint16(1); id <= 4; id++ {
		publish(id)
		c.ack(wire.Pubrec, id)
	}
	c.sendAck(wire.Pubrel, 1)
	c.ack(wire.Pubcomp, 1)
	publish(5)
	c.ack(wire.Pubrec, 5)
	_ = c.conn.Close()
	c = r.connect(wire.V5, "dev", lasting) // what was not released before does not count
	for id := uint16(6); id <= 8; id++ {
		publish(id)
		c.ack(wire.Pubrec, id)
	}
	c.sendAck(wire.Pubrel, 2)
	c.ack(wire.Pubcomp, 2)
	for id := uint16(9); ; id++ {
		publish(id)
		p := c.next()
		if p.Kind == wire.Pubrec && id < 12 {
			continue
		}
		if d, err := wire.ParseDisconnect(p); err != nil || d.Code != wire.ReceiveMaximumExceeded {
			t.Fatalf("message %d: got %v %v %v, want DISCONNECT with %v", id, p.Kind, d.Code, err, wire.ReceiveMaximumExceeded)
		}
		if id < 10 {
			t.Errorf("message %d is refused: 4 may be on their way", id)
		}
		return
	}
}

// TestReceiveMaximum: no more messages are on their way than the client says.
func TestReceiveMaximum(t *testing.T) {
	r := newRig(t, setup{})
	limited := func(p *wire.ConnectPacket) {
		lasting(p)
		p.Properties = wire.AppendUint(p.Properties, wire.ReceiveMaximum, 2)
	}
	sub, pub := r.connect(wire.V5, "sub", limited), r.connect(wire.V5, "pub")
	sub.sub("a", 1)
	for i := range 10 {
		pub.publish("a", fmt.Sprint(i))
	}
	zero, one := sub.want("a", "0", 1), sub.want("a", "1", 1)
	sub.quiet()
	sub.sendAck(wire.Puback, one.ID)
	two := sub.want("a", "2", 1)
	sub.quiet()
	_ = sub.conn.Close()
	sub = r.connect(wire.V5, "sub", limited)
	for i, id := range []uint16{zero.ID, two.ID} {
		if m := sub.message(); m.ID != id || !m.Dup {
			t.Errorf("message %d: packet %d, DUP %v, want %d again", i, m.ID, m.Dup, id)
		}
	}
	sub.quiet()
	sub.sendAck(wire.Puback, zero.ID)
	sub.sendAck(wire.Puback, two.ID)
	for i := 3; i < 10; i++ {
		sub.sendAck(wire.Puback, sub.want("a", fmt.Sprint(i), 1).ID)
	}
}

// TestMaximumPacketSize: messages that are too large for a client are left out.
func TestMaximumPacketSize(t *testing.T) {
	r := newRig(t, setup{})
	sub := r.connect(wire.V5, "sub", func(p *wire.ConnectPacket) {
		p.Properties = wire.AppendUint(p.Properties, wire.MaximumPacketSize, 100)
	})
	sub.sub("a", 1)
	pub := r.connect(wire.V5, "pub")
	pub.publish("a", strings.Repeat("x", 200))
	pub.publish("a", "short")
	sub.want("a", "short", 1)
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

// TestWill: a will is published if the connection ends without DISCONNECT, after its delay, unless the client returns before.
func TestWill(t *testing.T) {
	r := newRig(t, setup{})
	sub := r.connect(wire.V5, "sub")
	sub.sub("will/#", 1)
	with := func(delay uint32) func(*wire.ConnectPacket) {
		return func(p *wire.ConnectPacket) {
			lasting(p)
			p.Will = &wire.Will{QoS: 1, Retain: true, Topic: []byte("will/x"), Payload: fmt.Append(nil, "delay ", delay)}
			p.Will.Properties = wire.AppendUint(nil, wire.WillDelayInterval, delay)
			p.Will.Properties = wire.AppendUser(p.Will.Properties, "a", "b")
		}
	}
	c := r.connect(wire.V5, "c", with(0))
	c.disconnect()
	c = r.connect(wire.V5, "c", with(0))
	c.write(wire.AppendDisconnect(nil, wire.V5, wire.DisconnectPacket{Code: wire.DisconnectWithWill}))
	m := sub.want("will/x", "delay 0", 1)
	if string(m.Properties) != string(wire.AppendUser(nil, "a", "b")) {
		t.Errorf("got properties %x", m.Properties)
	}
	c = r.connect(wire.V5, "c", with(500))
	_ = c.conn.Close()
	c = r.connect(wire.V5, "c", with(1)) // in time
	_ = c.conn.Close()
	sub.want("will/x", "delay 1", 1)
	again := r.connect(wire.V311, "again")
	again.sub("will/x", 0)
	again.want("will/x", "delay 1", 0)
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
