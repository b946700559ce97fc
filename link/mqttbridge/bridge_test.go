package mqttbridge_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/link"
	"example.com/ferry/link/mqttbridge"
	"example.com/ferry/link/spool"
	"example.com/ferry/protocol/mqtt"
)

// connected waits until the bridge sends messages as they come.
func connected(t *testing.T, b *mqttbridge.Bridge) {
	t.Helper()
	eventually(t, "the bridge is connected", func() bool { s := b.Stats(); return s.Connected && !s.Spooling })
}

// TestOut: what is published on a tag goes to the broker, in order and with the path, and is counted when it is confirmed.
func TestOut(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	b := n.bridge(p.dial, func(c *mqttbridge.Config) {
		c.Target.User, c.Target.Password, c.SafeWithin = "device", []byte("secret"), time.Hour
	})
	connected(t, b)
	p.received.expect(n.publish(n.client(), 0, 500)...)
	eventually(t, "all are confirmed", func() bool { return b.Stats().Confirmed == 500 })
	if s := b.Stats(); s.WaitingBytes != 0 || s.Unconfirmed != 0 || s.Spooled != 0 || len(s.Dropped) != 0 {
		t.Errorf("got %+v", s)
	}
	if paths := p.paths.get(); len(paths) != 500 || paths[0] != "edge" {
		t.Errorf("%d paths, %.80q", len(paths), paths)
	}
	p.set(func() {
		if p.user != "device:secret" || !slices.Equal(p.filters, []string{"in/#"}) {
			t.Errorf("got user %q and filters %q", p.user, p.filters)
		}
	})
}

// TestOutage: while the broker is away, messages that were confirmed to their publisher wait on disk. They follow in order.
func TestOutage(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.down = true
	b := n.bridge(p.dial, nil)
	c := n.client()
	want := n.publish(c, 0, 300)
	eventually(t, "the bridge says why it is down", func() bool { return errors.Is(b.Stats().Err, errDown) })
	if s := b.Stats(); s.Connected || s.Spooled != 300 || s.Spool.Messages == 0 {
		t.Errorf("the broker is down: got %+v", s)
	}
	p.set(func() { p.down = false })
	want = append(want, n.publish(c, 300, 600)...)
	p.received.expect(want...)
	eventually(t, "the spool is empty", func() bool { return b.Stats().Spool.Messages == 0 })
	connected(t, b)
	want = append(want, n.publish(c, 600, 700)...)
	p.received.expect(want...)
	eventually(t, "all are confirmed", func() bool { return b.Stats().Confirmed == 700 })

	p.cut(false) // the spool has had messages, and has none now
	eventually(t, "the bridge connects again", func() bool { return b.Stats().Connects == 2 })
	p.received.expect(append(want, n.publish(c, 700, 800)...)...)
	if s := b.Stats(); len(s.Dropped) != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestConnectionLost: what the broker has not confirmed is sent again over the next connection.
func TestConnectionLost(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	b := n.bridge(p.dial, nil)
	connected(t, b)
	p.set(func() { p.withhold = true })
	c := n.client()
	want := n.publish(c, 0, 50)
	p.received.await(50)
	p.set(func() { p.withhold = false })
	p.cut(false)
	p.received.expect(slices.Concat(want, want)...)
	eventually(t, "all are confirmed", func() bool { s := b.Stats(); return s.Confirmed == 50 && s.Spool.Messages == 0 })
}

// TestSlowBroker: the response to a publisher does not wait for a broker that confirms nothing. Its messages are on disk then, and are
// not sent twice.
func TestSlowBroker(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.SafeWithin = 20 * time.Millisecond })
	connected(t, b)
	p.set(func() { p.withhold = true })
	c := n.client()
	want := n.publish(c, 0, 50)
	if s := b.Stats(); s.Spooled != 50 || s.WaitingBytes != 0 {
		t.Errorf("after the confirmation: got %+v", s)
	}
	p.received.expect(want...)
	p.release()
	eventually(t, "the spool is empty", func() bool { s := b.Stats(); return s.Spool.Messages == 0 && s.Confirmed == 50 })
	connected(t, b)
	p.received.expect(append(want, n.publish(c, 50, 100)...)...)
}

// TestRestart: what was not sent before Close is sent by the next bridge with the spool.
func TestRestart(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.down = true
	dir := t.TempDir()
	with := func(c *mqttbridge.Config) { c.Spool.Dir = dir }
	first := n.bridge(p.dial, with)
	want := n.publish(n.client(), 0, 100)
	closeBridge(first)
	p.set(func() { p.down = false })
	b := n.bridge(p.dial, with)
	p.received.expect(want...)
	eventually(t, "the spool is empty", func() bool { return b.Stats().Spool.Messages == 0 })
}

// TestClose: Close waits for what is on its way, so nothing stays in the spool.
func TestClose(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	dir := t.TempDir()
	b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.Spool.Dir = dir })
	connected(t, b)
	want := n.publish(n.client(), 0, 100)
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.received.expect(want...)
	s, err := spool.Open(spool.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if got := s.Stats().Messages; got != 0 {
		t.Errorf("%d messages are in the spool, want none", got)
	}
}

// TestFull: a spool without room refuses new messages, counts them and tells their publisher, or holds the publishers back.
func TestFull(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.down = true
	b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.Spool.MaxBytes = 64 << 10 })
	payload := []byte(`"` + strings.Repeat("x", 1000) + `"`)
	c := n.client()
	for range 200 {
		if err := c.Send(t.Context(), ferry.Message{Tag: "out/1", Type: ferry.JSON, Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "were dropped") {
		t.Errorf("Flush: got %v", err)
	}
	s := b.Stats()
	if s.Dropped["full"] == 0 || s.Dropped["full"]+s.Spooled != 200 || s.SpoolErr == nil {
		t.Errorf("got %d in the spool and %v, %v; want 200 together", s.Spooled, s.Dropped, s.SpoolErr)
	}
}

// TestFullBlocks: with BlockWhenFull, a full spool holds the publishers back, and no message is lost.
func TestFullBlocks(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.down = true
	b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.Spool.MaxBytes, c.Memory, c.BlockWhenFull = 64<<10, 64<<10, true })
	payload := []byte(`"` + strings.Repeat("x", 1000) + `"`)
	c := n.client()
	sent := make(chan error, 1)
	go func() {
		for range 2000 {
			if err := c.Send(t.Context(), ferry.Message{Tag: "out/1", Type: ferry.JSON, Payload: payload}); err != nil {
				sent <- err
				return
			}
		}
		sent <- c.Flush(t.Context())
	}()
	eventually(t, "the bridge is full", b.Full)
	left := false
	b.AwaitRoom(func() { left = true })()
	p.set(func() { p.down = false })
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	eventually(t, "all are confirmed", func() bool { return b.Stats().Confirmed == 2000 })
	if s := b.Stats(); len(s.Dropped) != 0 || left {
		t.Errorf("got %+v; a publisher that has left was resumed: %v", s, left)
	}
}

// TestRefused: a message that the broker refuses is counted and not sent again.
func TestRefused(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.code = mqtt.NotAuthorized
	b := n.bridge(p.dial, nil)
	connected(t, b)
	n.publish(n.client(), 0, 10)
	eventually(t, "all are refused", func() bool { return b.Stats().Refused == 10 })
	if s := b.Stats(); s.Confirmed != 0 || s.WaitingBytes != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestIn: messages of the broker are published on tags with the prefix, and confirmed in their order.
func TestIn(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	got := n.subscribe()
	b := n.bridge(p.dial, nil)
	connected(t, b)
	p.deliver(mqtt.PublishPacket{QoS: 1, ID: 1, Topic: []byte("in/a"), Payload: []byte(`{"v":1}`)})
	p.deliver(mqtt.PublishPacket{Topic: []byte("in/b"), Payload: []byte("plain")})
	p.deliver(mqtt.PublishPacket{QoS: 1, ID: 2, Topic: []byte("in/\u0001"), Payload: []byte("x")}) // no tag has control characters
	p.deliver(mqtt.PublishPacket{QoS: 1, ID: 3, Topic: []byte("in/c"), Payload: []byte("{not JSON}")})
	got.expect("cloud/in/a {\"v\":1}", "cloud/in/b plain", "cloud/in/c {not JSON}")
	p.acks.expect("1 success", "2 topic name invalid", "3 success")
	if s := b.Stats(); s.Received != 3 || s.Dropped["topic"] != 1 {
		t.Errorf("got %+v", s)
	}
}

// TestKeptSubscription: the session of a bridge that was restarted with fewer filters still has the other ones. What comes by them is confirmed,
// dropped and counted.
func TestKeptSubscription(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	got := n.subscribe()
	closeBridge(n.bridge(p.dial, func(c *mqttbridge.Config) { c.Target.In = []string{"in/#", "other/#"} }))
	filters := []string{"in/+/#", "$share/group/shared/#", "$queue/queue/+", "$exclusive/alone"}
	b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.Target.In = filters })
	connected(t, b)
	var want, acks []string
	for i, topic := range []string{"other/a", "in", "alone/a", "in/a", "in/a/b", "shared", "queue/a", "alone"} {
		p.deliver(mqtt.PublishPacket{QoS: 1, ID: uint16(i + 1), Topic: []byte(topic), Payload: []byte("1")})
		acks = append(acks, fmt.Sprint(i+1, " success"))
		if i >= 3 {
			want = append(want, "cloud/"+topic+" 1")
		}
	}
	got.expect(want...)
	p.acks.expect(acks...)
	if s := b.Stats(); s.Received != 5 || s.Dropped["unsubscribed"] != 3 {
		t.Errorf("got %+v", s)
	}
}

// TestLoop: a message does not go back to where it has come from.
func TestLoop(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	got := n.subscribe()
	b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.Target.Out = []string{"cloud/#", "out/#"} })
	connected(t, b)
	p.deliver(mqtt.PublishPacket{QoS: 1, ID: 1, Topic: []byte("in/a"), Payload: []byte("1")})
	for id, path := range []string{"edge", "hub/edge", "edge/hub", "hub"} {
		p.deliver(mqtt.PublishPacket{
			QoS: 1, ID: uint16(id + 2), Topic: []byte("in/b"), Payload: []byte(path), Properties: mqtt.AppendUser(nil, mqttbridge.PathProperty, path),
		})
	}
	got.expect("cloud/in/a 1", "cloud/in/b hub")
	p.acks.expect("1 success", "2 success", "3 success", "4 success", "5 success")
	p.received.expect(n.publish(n.client(), 0, 1)...)
	if s := b.Stats(); s.Returned != 5 || s.Received != 2 {
		t.Errorf("%d returned and %d received, want 5 and 2", s.Returned, s.Received)
	}
}

// TestProperties: the properties of a message and its retain flag pass the node, and the path grows.
func TestProperties(t *testing.T) {
	n, first, second := newNode(t), newPeer(t), newPeer(t)
	a := n.bridge(first.dial, nil)
	b := n.bridge(second.dial, func(c *mqttbridge.Config) { c.Name, c.Target.Out = "second", []string{"cloud/#"} })
	n.broker.SetForwarders([]broker.Forwarder{a, b})
	connected(t, a)
	connected(t, b)
	ps := mqtt.AppendUint(nil, mqtt.PayloadFormatIndicator, 1)
	ps = mqtt.AppendUint(ps, mqtt.MessageExpiryInterval, 60)
	ps = mqtt.AppendText(ps, mqtt.ContentType, "text/plain")
	ps = mqtt.AppendText(ps, mqtt.ResponseTopic, "r/1")
	ps = mqtt.AppendText(ps, mqtt.CorrelationData, "\x00\x01")
	ps = mqtt.AppendUser(ps, "unit", "celsius")
	ps = mqtt.AppendUser(ps, mqttbridge.PathProperty, "hub")
	first.deliver(mqtt.PublishPacket{QoS: 1, ID: 1, Retain: true, Topic: []byte("in/a"), Properties: ps, Payload: []byte("{}")})
	first.deliver(mqtt.PublishPacket{QoS: 1, ID: 2, Topic: []byte("in/a"), Properties: mqtt.AppendText(nil, mqtt.ContentType, strings.Repeat("x", 900))})
	first.acks.expect("1 success", "2 quota exceeded")
	second.received.expect("site/cloud/in/a {}")
	second.paths.expect("hub/edge")
	second.texts.expect("payload format indicator   1", "message expiry interval   60", "content type  text/plain 0", "response topic  r/1 0",
		"correlation data  \x00\x01 0", "user property unit celsius 0")
	if s := a.Stats(); s.Received != 1 || s.Dropped["properties"] != 1 {
		t.Errorf("got %+v", s)
	}
}

// TestHostile: bytes that the standard forbids end the connection, and the bridge connects again.
func TestHostile(t *testing.T) {
	for _, bytes := range []string{"\x00\x00", "\x30\xff\xff\xff\xff\x7f", "\x30\xff\xff\xff\x7f", "\x30\x02\x00\x09", "\x36\x00", "\x10\x00", "\x40\x02\x00\x00"} {
		n, p := newNode(t), newPeer(t)
		b := n.bridge(p.dial, nil)
		connected(t, b)
		p.write([]byte(bytes))
		eventually(t, "the bridge connects again", func() bool { return b.Stats().Connects >= 2 })
		connected(t, b)
		p.received.expect(n.publish(n.client(), 0, 10)...)
	}
}

// TestUpdate: another target counts for the next connection, and ends the subscriptions of the last one.
func TestUpdate(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	b := n.bridge(p.dial, nil)
	connected(t, b)
	if err := b.Update(mqttbridge.Target{Dial: p.dial, In: []string{"other"}, Out: []string{"out/1"}}); err != nil {
		t.Fatal(err)
	}
	n.broker.SetForwarders([]broker.Forwarder{b})
	eventually(t, "the bridge connects again", func() bool { return b.Stats().Connects == 2 })
	n.publish(n.client(), 0, 1)
	p.received.expect(`out/1 {"v":0}`)
	p.set(func() {
		if want := []string{"in/#", "-in/#", "other"}; !slices.Equal(p.filters, want) {
			t.Errorf("subscriptions %q, want %q", p.filters, want)
		}
	})
	if err := b.Update(mqttbridge.Target{Dial: p.dial, In: []string{"a/#/b"}}); err == nil {
		t.Error("a malformed filter is accepted")
	}
}

// TestUpdateFails: a target of whose filters the broker refuses one leaves no subscription behind.
func TestUpdateFails(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	b := n.bridge(p.dial, nil)
	connected(t, b)
	p.set(func() { p.refused = "no" })
	if err := b.Update(mqttbridge.Target{Dial: p.dial, In: []string{"yes", "no"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the broker refuses a filter", func() bool {
		err := b.Stats().Err
		return err != nil && strings.Contains(err.Error(), "refuses the subscription to no")
	})
	if err := b.Update(mqttbridge.Target{Dial: p.dial, In: []string{"other"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the bridge connects again", func() bool { return b.Stats().Connects == 2 })
	p.set(func() {
		if !slices.Contains(p.filters, "-yes") {
			t.Errorf("subscriptions %q, want the end of that to yes", p.filters)
		}
	})
}

// TestConfig: New refuses what cannot work.
func TestConfig(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	good := mqttbridge.Config{
		Config: link.Config{Name: "b", Spool: spool.Config{Dir: t.TempDir()}}, Node: "edge", Broker: n.broker, Listener: n.local,
		Target: mqttbridge.Target{Dial: p.dial, Out: []string{"#"}},
	}
	for name, row := range map[string]struct {
		change func(*mqttbridge.Config)
		want   string
	}{
		"no node":           {func(c *mqttbridge.Config) { c.Node = "" }, "Node"},
		"no broker":         {func(c *mqttbridge.Config) { c.Broker = nil }, "Broker"},
		"no dialer":         {func(c *mqttbridge.Config) { c.Target.Dial = nil }, "Dial"},
		"nothing":           {func(c *mqttbridge.Config) { c.Target.Out = nil }, "empty"},
		"malformed filter":  {func(c *mqttbridge.Config) { c.Target.In = []string{"a+"} }, "level of its own"},
		"malformed tags":    {func(c *mqttbridge.Config) { c.Target.Out = []string{"a#"} }, "stand alone"},
		"no spool":          {func(c *mqttbridge.Config) { c.Spool.Dir = "" }, "Dir"},
		"malformed share":   {func(c *mqttbridge.Config) { c.Target.In = []string{"$share/g"} }, "$share/GROUP/FILTER"},
		"wildcard in share": {func(c *mqttbridge.Config) { c.Target.In = []string{"$share/+/a"} }, "$share/GROUP/FILTER"},
	} {
		cfg := good
		row.change(&cfg)
		if b, err := mqttbridge.New(cfg); err == nil {
			closeBridge(b)
			t.Errorf("%s: accepted", name)
		} else if !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %s", name, err, row.want)
		}
	}
}
