package mqttbridge_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/link/mqttbridge"
	"example.com/ferry/protocol/mqtt"
)

// TestOldBroker: messages pass in both directions, and outages, with a broker that speaks MQTT 3.1.1 only and says so, or says nothing.
func TestOldBroker(t *testing.T) {
	for _, silent := range []bool{false, true} {
		t.Run(fmt.Sprint("silent ", silent), func(t *testing.T) {
			n, p := newNode(t), newPeer(t)
			p.old, p.silent = true, silent
			got := n.subscribe()
			b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.Target.User, c.Target.Password = "device", []byte("secret") })
			connected(t, b)
			c := n.client()
			want := n.publish(c, 0, 50)
			p.received.expect(want...)
			p.deliver(mqtt.PublishPacket{QoS: 1, ID: 1, Topic: []byte("in/a"), Payload: []byte("1")})
			p.deliver(mqtt.PublishPacket{Topic: []byte("in/b"), Payload: []byte("2")})
			p.deliver(mqtt.PublishPacket{QoS: 1, ID: 2, Topic: []byte("in/\u0001"), Payload: []byte("x")}) // refused, which 3.1.1 cannot say
			got.expect("cloud/in/a 1", "cloud/in/b 2")
			p.acks.expect("1 success", "2 success")
			p.cut(true)
			want = append(want, n.publish(c, 50, 100)...)
			p.set(func() { p.down = false })
			p.received.expect(want...)
			eventually(t, "all are confirmed", func() bool { s := b.Stats(); return s.Confirmed == 100 && s.Spool.Messages == 0 })
			if s := b.Stats(); s.Connects != 2 || s.Dropped["topic"] != 1 {
				t.Errorf("got %+v", s)
			}
			if len(p.paths.get())+len(p.texts.get()) > 0 || p.user != "device:secret" {
				t.Errorf("properties %q, user %q", p.texts.get(), p.user)
			}
		})
	}
}

// TestRestartedBroker: a broker that speaks both versions, and has ended a connection without a response because it restarts, is connected by
// MQTT 5, at first and after an outage.
func TestRestartedBroker(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.both, p.cuts = true, 1
	b := n.bridge(p.dial, nil)
	c := n.client()
	for i := range 3 {
		eventually(t, "the bridge connects", func() bool { return b.Stats().Connects == uint64(i+1) })
		connected(t, b)
		n.publish(c, i, i+1)
		p.received.await(i + 1)
		if paths := p.paths.get(); len(paths) != i+1 {
			t.Errorf("connection %d is not of MQTT 5: %d of %d messages had properties", i+1, len(paths), i+1)
		}
		eventually(t, "all are confirmed", func() bool { return b.Stats().Confirmed == uint64(i+1) })
		p.set(func() { p.cuts = 1 })
		p.cut(false)
	}
}

// TestNewerBroker: a broker that has spoken 3.1.1 only is connected by MQTT 5 once it speaks that.
func TestNewerBroker(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.old, p.silent = true, true
	b := n.bridge(p.dial, nil)
	connected(t, b)
	p.set(func() { p.both = true })
	p.cut(false)
	eventually(t, "the bridge connects again", func() bool { return b.Stats().Connects == 2 })
	p.received.expect(n.publish(n.client(), 0, 1)...)
	if paths := p.paths.get(); len(paths) != 1 {
		t.Errorf("the connection is not of MQTT 5: %d of 1 messages had properties", len(paths))
	}
}

// TestConnectFails: the error names the failure of a connection, which is tried once before each pause.
func TestConnectFails(t *testing.T) {
	ca := certstest.NewCA(t, "ca")
	secure := &tls.Config{Certificates: []tls.Certificate{ca.Issue(t, certstest.Leaf{Names: []string{"localhost"}}).TLS(t)}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}
	for name, row := range map[string]struct {
		serve func(net.Conn)
		tls   *tls.Config
		want  string
	}{
		"authentication": {func(c net.Conn) {
			_, _ = c.Write(mqtt.AppendConnack(nil, mqtt.V5, &mqtt.ConnackPacket{Code: mqtt.NotAuthorized}))
		}, nil, "refuses the connection: not authorized"},
		"no certificate": {func(c net.Conn) { _ = tls.Server(c, secure).Handshake() }, &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"}, "certificate required"},
		"end":            {func(net.Conn) {}, nil, "closed the connection before CONNACK"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					if row.tls == nil {
						_, _ = c.Read(make([]byte, 1<<10)) // CONNECT
					}
					row.serve(c)
					_ = c.Close()
				}
			}()
			var dials atomic.Int64
			b := newNode(t).bridge(func(ctx context.Context) (net.Conn, error) {
				dials.Add(1)
				var d net.Dialer
				c, err := d.DialContext(ctx, "tcp", l.Addr().String())
				if err != nil || row.tls == nil {
					return c, err
				}
				secure := tls.Client(c, row.tls)
				return secure, secure.HandshakeContext(ctx)
			}, func(c *mqttbridge.Config) { c.MinBackoff, c.MaxBackoff = time.Hour, time.Hour })
			var got string
			eventually(t, "the bridge says why it is down", func() bool {
				got = b.Stats().Err.Error()
				return !strings.Contains(got, "the first connection is not made yet")
			})
			if !strings.Contains(got, row.want) || strings.Contains(got, "version of MQTT") {
				t.Errorf("got %s, want %s", got, row.want)
			}
			if dials.Load() != 1 {
				t.Errorf("%d dials before the first pause, want 1", dials.Load())
			}
		})
	}
}

// TestOldBrokerCircle: a broker of MQTT 3.1.1 cannot leave out what the bridge itself has published. So topics in both directions are
// refused, and the error names them.
func TestOldBrokerCircle(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.old = true
	b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.Target.In = []string{"$share/g/site/#"} })
	eventually(t, "the bridge says why it is down", func() bool {
		s := b.Stats()
		return s.Err != nil && strings.Contains(s.Err.Error(), `in "$share/g/site/#" and out "out/#" have topics in common`)
	})
}

// TestOldBrokerIsBounded: a broker of MQTT 3.1.1 knows no Receive Maximum. It waits while too many of its messages are not confirmed.
func TestOldBrokerIsBounded(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.old = true
	gate := n.block("cloud/in/#")
	const most, count = 20, 100
	b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.Inflight = most })
	connected(t, b)
	var sent atomic.Int64
	go func() {
		payload := make([]byte, 64<<10)
		for i := range count {
			p.deliver(mqtt.PublishPacket{QoS: 1, ID: uint16(i + 1), Topic: []byte("in/a"), Payload: payload})
			sent.Add(1)
		}
	}()
	last, looks := int64(0), 0
	eventually(t, "the broker waits", func() bool {
		if now := sent.Load(); now != last || now == 0 {
			last, looks = now, 0
		}
		looks++
		return looks > 20
	})
	if got := sent.Load(); got > 60 { // the queue of the tag has 1 MiB
		t.Errorf("the node takes no message, and %d have left the broker", got)
	}
	gate()
	if acks := p.acks.await(count); len(acks) != count || b.Stats().Connects != 1 {
		t.Errorf("%d messages were confirmed, over %d connections", len(acks), b.Stats().Connects)
	}
}

// TestLimits: the bridge keeps to the limits in the broker's CONNACK. A message that is longer than the broker takes is dropped and counted, and costs
// the others nothing.
func TestLimits(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.limits = mqtt.AppendUint(nil, mqtt.ReceiveMaximum, 3)
	p.limits = mqtt.AppendUint(p.limits, mqtt.MaximumPacketSize, 200)
	p.withhold = true
	b := n.bridge(p.dial, nil)
	connected(t, b)
	c := n.client()
	var want []string
	for i := range 40 {
		m := ferry.Message{Tag: "out/1", Payload: []byte(fmt.Sprint(i))}
		if i%4 == 0 {
			m.Payload = make([]byte, 300)
		} else {
			want = append(want, "site/out/1 "+string(m.Payload))
		}
		if err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for i := range want {
		p.received.await(i + 1)
		p.set(func() { p.withhold = true })
		if i%3 == 2 {
			p.release()
			p.set(func() { p.withhold = true })
		}
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all are counted", func() bool {
		s := b.Stats()
		return s.Confirmed == uint64(len(want)) && s.Dropped["too_long"] == 10 && s.Unconfirmed == 0 && s.Spool.Messages == 0
	})
	if got := p.received.get(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p.set(func() {
		if p.most > 3 {
			t.Errorf("%d messages were on their way at a time", p.most)
		}
	})
}

// TestOnlyTooLong: messages that are dropped because of their length alone are settled, though there is no PUBACK.
func TestOnlyTooLong(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.limits = mqtt.AppendUint(nil, mqtt.MaximumPacketSize, 20)
	b := n.bridge(p.dial, nil)
	connected(t, b)
	n.publish(n.client(), 0, 10)
	eventually(t, "all are dropped", func() bool {
		s := b.Stats()
		return s.Dropped["too_long"] == 10 && s.Unconfirmed == 0 && s.WaitingBytes == 0
	})
}

// TestNodeStops: a node that takes no more clients leaves nothing of the connections that the bridge tries.
func TestNodeStops(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	if err := n.broker.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	var dials atomic.Int64
	before := runtime.NumGoroutine()
	b := n.bridge(func(ctx context.Context) (net.Conn, error) {
		dials.Add(1)
		return p.dial(ctx)
	}, nil)
	eventually(t, "the bridge has dialed often", func() bool { return dials.Load() >= 40 })
	closeBridge(b)
	eventually(t, "what has served the connections ends", func() bool { return runtime.NumGoroutine() < before+20 })
	if b.Stats().Connects > 0 {
		t.Error("the bridge is connected")
	}
}

// TestQoS0Only: a broker that takes no QoS 1 is refused, and the error says why.
func TestQoS0Only(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.limits = mqtt.AppendUint(nil, mqtt.MaximumQoS, 0)
	b := n.bridge(p.dial, nil)
	eventually(t, "the bridge says why it is down", func() bool {
		s := b.Stats()
		return s.Err != nil && strings.Contains(s.Err.Error(), "no messages of QoS 1")
	})
}

// TestManyFlights: packet identifiers begin again behind the last one, and each PUBACK confirms its own message.
func TestManyFlights(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	b := n.bridge(p.dial, nil)
	connected(t, b)
	const count = 70_000
	src, err := n.client().Source(t.Context(), "out/1")
	if err != nil {
		t.Fatal(err)
	}
	for range count {
		if err := src.Send(t.Context(), ferry.Message{Payload: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all are confirmed", func() bool { s := b.Stats(); return s.Confirmed == count && s.Unconfirmed == 0 })
	if s := b.Stats(); s.Connects != 1 || len(p.received.get()) != count {
		t.Errorf("%d messages have come, and got %+v", len(p.received.get()), s)
	}
}
