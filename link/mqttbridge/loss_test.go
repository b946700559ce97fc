package mqttbridge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/link/mqttbridge"
	"example.com/ferry/link/spool"
	"example.com/ferry/protocol/mqtt"
	"example.com/ferry/protocol/native"
)

// away renames a file or a directory, as if the disk did not open it. back undoes this.
func away(t *testing.T, path string) (back func()) {
	t.Helper()
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnreadableSpool: messages are on disk, and the broker returns while the spool cannot be opened. They arrive when it can, before others.
func TestUnreadableSpool(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.down = true
	dir := t.TempDir()
	b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.Spool = spool.Config{Dir: dir, MaxBytes: 256 << 10} })
	c := n.client()
	want := n.publish(c, 0, 500)
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	back := away(t, files[0])
	p.set(func() { p.down = false })
	eventually(t, "the bridge says that it cannot read", func() bool { s := b.Stats(); return s.Connected && s.SpoolErr != nil })
	want = append(want, n.publish(c, 500, 510)...)
	back()
	p.received.expect(want...)
	eventually(t, "all are confirmed", func() bool { s := b.Stats(); return s.Confirmed == 510 && s.Spool.Messages == 0 })
	if s := b.Stats(); len(s.Dropped) > 0 || s.Connects != 1 {
		t.Errorf("got %+v", s)
	}
}

// TestUnwritableSpool: while the broker is away and the spool takes nothing, publishers wait or are told. What is confirmed arrives.
func TestUnwritableSpool(t *testing.T) {
	for _, block := range []bool{false, true} {
		t.Run(fmt.Sprint("block ", block), func(t *testing.T) {
			n, p := newNode(t), newPeer(t)
			p.down = true
			dir := filepath.Join(t.TempDir(), "spool")
			b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.Spool.Dir, c.BlockWhenFull = dir, block })
			back := away(t, dir)
			c := n.client()
			if err := c.Send(t.Context(), ferry.Message{Tag: "out/a", Payload: []byte("x")}); err != nil {
				t.Fatal(err)
			}
			flushed := make(chan error, 1)
			go func() { flushed <- c.Flush(t.Context()) }()
			if !block {
				if err := <-flushed; err == nil || !strings.Contains(err.Error(), "1 messages on tag out/a were dropped") {
					t.Errorf("Flush: got %v", err)
				}
				if s := b.Stats(); s.Dropped["disk"] != 1 || s.SpoolErr == nil {
					t.Errorf("got %+v", s)
				}
				back()
				return
			}
			eventually(t, "the spool has failed", func() bool { return b.Stats().SpoolErr != nil })
			back()
			if err := <-flushed; err != nil {
				t.Fatal(err)
			}
			if s := b.Stats(); s.Spooled != 1 || len(s.Dropped) > 0 {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// TestUnwritableSpoolWhileConnected: a spool that takes nothing does not stop a bridge whose broker is slow to confirm, nor the next connection.
func TestUnwritableSpoolWhileConnected(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	p.withhold = true
	dir := filepath.Join(t.TempDir(), "spool")
	b := n.bridge(p.dial, func(c *mqttbridge.Config) {
		c.Spool.Dir, c.SafeWithin, c.BlockWhenFull = dir, 20*time.Millisecond, true
	})
	connected(t, b)
	defer away(t, dir)()
	send := func(from, to int) (want []string) {
		for i := from; i < to; i++ {
			if err := n.client().Send(t.Context(), ferry.Message{Tag: "out/a", Payload: []byte(fmt.Sprint(i))}); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprintf("site/out/a %d", i))
			p.received.await(i + 1)
		}
		return want
	}
	want := send(0, 1)
	c := n.client()
	if err := c.Send(t.Context(), ferry.Message{Tag: "out/a", Payload: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	want = append(want, "site/out/a 1")
	flushed := make(chan error, 1)
	go func() { flushed <- c.Flush(t.Context()) }()
	eventually(t, "the spool has failed", func() bool { return b.Stats().SpoolErr != nil })
	want = append(want, send(2, 4)...)
	p.received.expect(want...)
	p.set(func() { p.withhold = false })
	p.cut(false)
	if err := <-flushed; err != nil {
		t.Fatal(err)
	}
	p.received.expect(append(want, want...)...)
	eventually(t, "all are confirmed", func() bool { return b.Stats().Confirmed == 4 })
	if s := b.Stats(); len(s.Dropped) > 0 || s.Connects != 2 {
		t.Errorf("got %+v", s)
	}
}

// stuck is a subscriber that takes nothing.
type stuck struct{}

func (stuck) Deliver(*broker.LocalSub, *broker.Run) int { return 0 }
func (stuck) Flush()                                    {}
func (stuck) Ready(*broker.LocalTag)                    {}
func (stuck) Opened(*broker.LocalSub)                   {}
func (stuck) Ended(*broker.LocalSub, error)             {}
func (stuck) Drain(string)                              {}
func (stuck) Closed(error)                              {}

// block makes the tags of a filter have no credit, until release is called.
func (n *node) block(filter string) (release func()) {
	n.t.Helper()
	client, err := n.local.Connect(broker.LocalConfig{Name: "stuck", Handler: stuck{}})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(client.Close)
	if _, err := client.Subscribe(broker.LocalSubConfig{Filter: filter, Policy: native.Block}); err != nil {
		n.t.Fatal(err)
	}
	return client.Close
}

// TestReceiveMaximum: a broker that sends more messages without their PUBACK than CONNECT allows is disconnected, and told why. So what waits
// in the node is bounded.
func TestReceiveMaximum(t *testing.T) {
	n, p := newNode(t), newPeer(t)
	n.block("cloud/in/#")
	const most = 50
	b := n.bridge(p.dial, func(c *mqttbridge.Config) { c.Inflight = most })
	connected(t, b)
	payload := make([]byte, 64<<10)
	for i := range most + 30 { // too few for a second connection
		if b.Stats().Connects > 1 {
			break
		}
		p.deliver(mqtt.PublishPacket{QoS: 1, ID: uint16(i + 1), Topic: []byte("in/a"), Payload: payload})
	}
	eventually(t, "the broker is disconnected", func() bool { return b.Stats().Connects > 1 })
	if reasons := p.ends.get(); len(reasons) != 1 || reasons[0] != mqtt.ReceiveMaximumExceeded.String() {
		t.Errorf("the broker was told %q", reasons)
	}
	if got := b.Stats().Received; got > most {
		t.Errorf("%d messages were published, and none was confirmed", got)
	}
}
