package forward_test

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/link/forward"
	"example.com/ferry/link/spool"
)

// TestTwoNodes: what clients of one node publish arrives at the other one, in order, validated once, and is counted when the other
// node has confirmed it.
func TestTwoNodes(t *testing.T) {
	for _, c := range []struct {
		token     string
		validated uint64
	}{{"trusted", 0}, {"link", 100}} {
		t.Run(c.token, func(t *testing.T) {
			net := newNetwork(t)
			a, b := net.node("a", nil), net.node("b", nil)
			got := b.record()
			link := a.link("b", func(cfg *forward.Config) { cfg.Target.Token = []byte(c.token) })
			eventually(t, "the link is up", func() bool { return link.Stats().Connected && !link.Stats().Spooling })
			sent := publish(t, a.client(), "sensors/1", 0, 100)
			got.expect(sent...)
			if n := a.broker.Snapshot().Validated; n != 100 {
				t.Errorf("the first node has validated %d messages, want 100", n)
			}
			if n := b.broker.Snapshot().Validated; n != c.validated {
				t.Errorf("the second node has validated %d messages, want %d", n, c.validated)
			}
			eventually(t, "all are confirmed", func() bool { return link.Stats().Confirmed == 100 })
			if s := link.Stats(); s.Node != "b" || s.Refused != 0 || s.WaitingBytes != 0 {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// TestRing: in a ring of three nodes each message reaches each node once, from wherever it comes.
func TestRing(t *testing.T) {
	net := newNetwork(t)
	ids := []string{"a", "b", "c"}
	var nodes []*node
	var got []*recorder
	for _, id := range ids {
		n := net.node(id, nil)
		nodes, got = append(nodes, n), append(got, n.record())
	}
	for i, n := range nodes {
		n.link(ids[(i+1)%3], nil)
	}
	const each = 200
	want := map[string]bool{}
	for i, n := range nodes {
		for _, m := range publish(t, n.client(), "from/"+ids[i], 0, each) {
			want[m] = true
		}
	}
	for i, r := range got {
		seen := map[string]int{}
		for _, m := range r.await(3 * each) {
			seen[m]++
		}
		for m := range want {
			if seen[m] != 1 {
				t.Fatalf("node %s got %q %d times", ids[i], m, seen[m])
			}
		}
	}
	for i, n := range nodes {
		s := n.broker.Snapshot()
		if s.Dropped["loop"] != 0 { // the link does not send what the other node has sent
			t.Errorf("node %s has dropped %d messages because of a loop", ids[i], s.Dropped["loop"])
		}
		if r := n.links[0].Stats().Returned; r != each {
			t.Errorf("link of %s has left out %d messages, want %d", ids[i], r, each)
		}
	}
}

// TestRingUnderLoad: publishers at all nodes of a ring wait for confirmations at the same time, and all get them.
func TestRingUnderLoad(t *testing.T) {
	net := newNetwork(t)
	ids := []string{"a", "b", "c"}
	var nodes []*node
	var got []*recorder
	for _, id := range ids {
		n := net.node(id, nil)
		nodes, got = append(nodes, n), append(got, n.record())
	}
	for i, n := range nodes {
		n.link(ids[(i+1)%3], func(cfg *forward.Config) { cfg.SafeWithin = 20 * time.Millisecond })
	}
	const rounds, each = 10, 20
	t.Run("publish", func(t *testing.T) {
		for i, n := range nodes {
			c := n.client()
			t.Run(ids[i], func(t *testing.T) {
				t.Parallel()
				for r := range rounds {
					publish(t, c, "from/"+ids[i], r*each, (r+1)*each)
				}
			})
		}
	})
	for i, r := range got {
		seen := map[string]int{}
		for _, m := range r.await(3 * rounds * each) {
			seen[m]++
		}
		if len(seen) != 3*rounds*each {
			t.Errorf("node %s got %d different messages, want %d", ids[i], len(seen), 3*rounds*each)
		}
		for m, n := range seen {
			if n != 1 {
				t.Fatalf("node %s got %q %d times", ids[i], m, n)
			}
		}
	}
}

// TestBothForwardAll: two nodes that forward all tags to each other exchange messages and do not loop.
func TestBothForwardAll(t *testing.T) {
	net := newNetwork(t)
	a, b := net.node("a", nil), net.node("b", nil)
	atA, atB := a.record(), b.record()
	toB, toA := a.link("b", nil), b.link("a", nil)
	eventually(t, "both links are up", func() bool { return !toA.Stats().Spooling && !toB.Stats().Spooling })
	first := publish(t, a.client(), "x", 0, 50)
	atB.expect(first...)
	second := publish(t, b.client(), "x", 50, 100)
	atA.expect(append(first, second...)...)
	atB.expect(append(first, second...)...)
	if ab, ba := toB.Stats(), toA.Stats(); ab.Returned != 50 || ba.Returned != 50 || ab.Confirmed != 50 {
		t.Errorf("got %+v and %+v", ab, ba)
	}
}

// TestOutage: messages of an outage are stored on disk, survive the link, and arrive in order before later ones.
func TestOutage(t *testing.T) {
	net := newNetwork(t)
	a := net.node("a", nil)
	dir := t.TempDir()
	configure := func(cfg *forward.Config) { cfg.Spool, cfg.Target.Addr = spool.Config{Dir: dir}, "b for links" }
	link := a.link("b", configure)
	c := a.client()
	sent := publish(t, c, "x", 0, 500) // confirmed though the other node was never there
	if s := link.Stats(); s.Spool.Messages == 0 || s.Connected || s.Err == nil {
		t.Errorf("got %+v", s)
	}
	closeLink(link)
	a.links = nil
	link = a.link("b", configure)
	sent = append(sent, publish(t, c, "x", 500, 600)...)
	b := net.node("b", nil)
	got := b.record()
	b.open("b for links") // after the subscription: what arrives before it would be lost
	eventually(t, "the spool is empty", func() bool { s := link.Stats(); return s.Spool.Messages == 0 && !s.Spooling })
	sent = append(sent, publish(t, c, "x", 600, 700)...)
	got.expect(sent...)
	eventually(t, "all are confirmed", func() bool { return link.Stats().Confirmed == 700 })
}

// TestReconnect: nothing is lost when the other node is replaced again and again while messages are on their way.
func TestReconnect(t *testing.T) {
	net := newNetwork(t)
	a := net.node("a", nil)
	link := a.link("b", nil)
	c := a.client()
	seen := map[string]bool{}
	var sent []string
	for i := range 5 {
		b := net.node("b", nil)
		got := b.record()
		eventually(t, "the link is up", func() bool { s := link.Stats(); return s.Connected && !s.Spooling })
		sent = append(sent, publish(t, c, "x", 100*i, 100*i+100)...)
		last := sent[len(sent)-1]
		eventually(t, "the last message arrives", func() bool { l := got.list(); return len(l) > 0 && l[len(l)-1] == last })
		for _, m := range got.list() {
			seen[m] = true
		}
		b.stop()
		eventually(t, "the link is down", func() bool { return !link.Stats().Connected })
	}
	for _, m := range sent {
		if !seen[m] {
			t.Fatalf("%q is lost", m)
		}
	}
}

// TestTooLong: a message that the other node cannot take is dropped and counted, and those behind it arrive.
func TestTooLong(t *testing.T) {
	for _, down := range []bool{false, true} {
		net := newNetwork(t)
		a := net.node("a", nil)
		var b *node
		start := func() { b = net.node("b", func(cfg *broker.Config) { cfg.MaxFrame = 1 << 10 }) }
		if !down {
			start()
		}
		link := a.link("b", nil)
		if !down {
			eventually(t, "the link is up", func() bool { return !link.Stats().Spooling })
		}
		c := a.client()
		for _, n := range []int{10, 2000, 20} {
			if err := c.Send(t.Context(), ferry.Message{Tag: "x", Payload: []byte(strings.Repeat("z", n))}); err != nil {
				t.Fatal(err)
			}
		}
		var got *recorder
		if !down {
			got = b.record()
		}
		flush(t, c)
		if down {
			start()
			got = b.record()
			more := publish(t, c, "y", 0, 1)
			eventually(t, "the last message arrives", func() bool { return slices.Contains(got.list(), more[0]) }) // of its tag
		}
		eventually(t, "all are counted", func() bool {
			s := link.Stats()
			return s.Dropped["too_long"] == 1 && s.Refused == 0 && s.Confirmed >= 2
		})
		closeLink(link)
		b.stop()
		a.stop()
	}
}

// TestRefused: messages on a tag that the other node does not grant, and messages that it drops, are counted as refused.
func TestRefused(t *testing.T) {
	net := newNetwork(t)
	a := net.node("a", func(cfg *broker.Config) { cfg.Formats = nil }) // lets invalid payloads through
	b := net.node("b", func(cfg *broker.Config) {
		cfg.Identify = func([]byte, *tls.ConnectionState) (*broker.Identity, error) {
			return &broker.Identity{Name: "link", Publish: []string{"open/#"}, Subscribe: []string{"#"}, Forward: true}, nil
		}
	})
	got := b.record()
	link := a.link("b", nil)
	eventually(t, "the link is up", func() bool { return !link.Stats().Spooling })
	c := a.client()
	publish(t, c, "closed/x", 0, 3)
	sent := publish(t, c, "open/x", 0, 2)
	if err := c.Send(t.Context(), ferry.Message{Tag: "open/x", Type: ferry.JSON, Payload: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	flush(t, c)
	sent = append(sent, publish(t, c, "open/x", 2, 4)...)
	got.expect(sent...)
	eventually(t, "all are counted", func() bool { s := link.Stats(); return s.Confirmed == 4 && s.Refused == 4 })
}
