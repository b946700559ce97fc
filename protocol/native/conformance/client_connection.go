package conformance

import (
	"fmt"

	"example.com/ferry/protocol/native"
)

// clientConnection are the cases about PING, GOAWAY and what follows the end of a connection.
func clientConnection() []clientCase {
	return []clientCase{
		{Case{"ping/response", "Kinds", "The response to a PING has its value and flag 01."}, func(c *clientRun) {
			n := c.connect()
			for _, v := range []uint64{0, 1, 1 << 63, 1<<64 - 1} {
				n.write(native.AppendPing(nil, false, v))
				if f := n.take(fmt.Sprintf("the response to PING %d", v), native.Ping); pingValue(f) != v || f.Flags()&native.FlagAck == 0 {
					c.fail(fmt.Sprintf("the response to PING %d", v), "%s", show(f))
				}
			}
		}},
		{Case{"ping/heartbeat", "A connection", "The client sends PING at least once a heartbeat of WELCOME."}, func(c *clientRun) {
			n := c.connect(func(w *native.WelcomeFrame) { w.Heartbeat = 1000 })
			c.await("PING, although nothing else happens", func() (bool, string) { return n.rules.pings > 0, n.lost() }, n.seen)
		}},
		{Case{"ping/silent-node", "A connection", "The client ends a connection of which it has heard nothing for three heartbeats, with GOAWAY timeout."}, func(c *clientRun) {
			n := c.connect(func(w *native.WelcomeFrame) { w.Heartbeat = 200 })
			n.takePings()
			c.refuseOthers()
			if g, ok := n.awaitEnd("the end of the connection"); ok && g.Code != native.CodeTimeout {
				c.fail("GOAWAY timeout", "GOAWAY %v %q", g.Code, g.Reason)
			}
		}},
		{Case{"ping/unknown-response", "Kinds", "The client ignores the response to a PING that it has not sent."}, func(c *clientRun) {
			n := c.connect()
			n.write(native.AppendPing(nil, true, 4711))
			n.barrier("a connection")
		}},
		{Case{"close/goaway", "A connection", "A client that closes sends what it has published, and then GOAWAY ok as its last frame."}, func(c *clientRun) {
			n := c.connect()
			p := c.publish("a", `"x"`)
			n.grant("a", 1, false)
			p.ok()
			closing := c.tell(Instruction{Do: "close"})
			n.takePub(1, []byte(`"x"`))
			n.takeLeave()
			closing.ok()
			c.alive()
		}},
		{Case{"close/confirmed", "A connection", "Before GOAWAY ok the client waits for the response to a PING behind its messages."}, func(c *clientRun) {
			n := c.connect()
			n.takePings()
			p := c.publish("a", `"x"`)
			n.grant("a", 1, false)
			n.takePub(1, []byte(`"x"`))
			p.ok()
			closing := c.tell(Instruction{Do: "close"})
			ping := n.take("PING", native.Ping)
			n.quiet("no GOAWAY before the response to PING", native.Goaway)
			n.write(native.AppendPing(nil, true, pingValue(ping)))
			n.takeLeave()
			closing.ok()
		}},
		{Case{"drain/publisher", "A connection", "After GOAWAY draining a publisher sends what it has, waits for the response to a PING, and sends GOAWAY ok."}, func(c *clientRun) {
			n := c.connect()
			p := c.publish("a", `"x"`)
			n.grant("a", 1, false)
			n.takePub(1, []byte(`"x"`))
			p.ok()
			c.refuseOthers()
			n.takePings()
			n.write(native.AppendGoaway(nil, native.GoawayFrame{Code: native.CodeDraining, Reason: "restart"}))
			ping := n.take("PING", native.Ping)
			n.write(native.AppendPing(nil, true, pingValue(ping)))
			n.takeLeave()
			c.alive()
		}},
		{Case{"drain/subscriber", "A connection", "After GOAWAY draining a subscriber still handles what the node sends, until the node closes the connection."}, func(c *clientRun) {
			n := c.connect()
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "#"})
			c.refuseOthers()
			n.write(native.AppendGoaway(nil, native.GoawayFrame{Code: native.CodeDraining, Reason: "restart"}))
			n.deliver(s.ID, announce(0, "a"), jsonPub(0, "1"))
			c.message(1, []byte("1"))
			c.alive()
		}},
		{Case{"drain/reconnect", "A connection", "After GOAWAY draining and the end of the connection the client connects again, and subscribes and publishes there."}, func(c *clientRun) {
			n := c.reconnecting()
			c.subscribe(n, Instruction{Sub: 1, Filter: "#"})
			p := c.publish("a", "1")
			n.grant("a", 1, false)
			n.takePub(1, []byte("1"))
			p.ok()
			n.write(native.AppendGoaway(nil, native.GoawayFrame{Code: native.CodeDraining, Reason: "restart"}))
			n.takeLeave()
			_ = n.conn.Close()
			second := c.next()
			second.greet()
			c.resumed(second, "a", 2, "#")
			p = c.publish("a", "2")
			second.takePub(2, []byte("2"))
			p.ok()
		}},
		{Case{"reconnect/lost", "A connection", "After a lost connection the client connects again, requests its tags and subscriptions again, and uses the new numbers and source id."}, func(c *clientRun) {
			n := c.reconnecting()
			c.subscribe(n, Instruction{Sub: 1, Filter: "x/#"})
			p := c.publish("a", "1")
			n.grant("a", 1, false)
			n.takePub(1, []byte("1"))
			p.ok()
			_ = n.conn.Close()
			second := c.next()
			second.greet()
			s := c.resumed(second, "a", 1000, "x/#")
			p = c.publish("a", "2")
			second.takePub(1000, []byte("2"))
			p.ok()
			second.deliver(s.ID, announce(5, "x/y"), jsonPub(5, "3"))
			if m := c.message(1, []byte("3")); m.Tag != "x/y" {
				c.fail("tag x/y", "%v", m)
			}
		}},
		{Case{"reconnect/refused", "Credentials", "A client that connects again and is refused for now tries again."}, func(c *clientRun) {
			n := c.reconnecting()
			_ = n.conn.Close()
			second := c.next()
			second.readHello()
			second.write(native.AppendGoaway(nil, native.GoawayFrame{Code: native.CodeLimit, Reason: "too many connections"}))
			_ = second.conn.Close()
			third := c.next()
			third.greet()
			third.barrier("a connection")
		}},
		{Case{"goaway/error", "A connection", "A GOAWAY with an error ends the connection: the client closes it."}, func(c *clientRun) {
			n := c.connect()
			c.refuseOthers()
			n.write(native.AppendGoaway(nil, native.GoawayFrame{Code: native.CodeUnauthenticated, Reason: "the identity is gone"}))
			n.awaitEnd("the client closes the connection")
			c.alive()
		}},
		{Case{"goaway/unknown-code", "Kinds", "A GOAWAY with a code that the client does not know ends the connection, too."}, func(c *clientRun) {
			n := c.connect()
			c.refuseOthers()
			n.write(native.AppendGoaway(nil, native.GoawayFrame{Code: 999}))
			n.awaitEnd("the client closes the connection")
			c.alive()
		}},
		{Case{"lost/middle", "A connection", "A connection that ends within a frame is a lost connection."}, func(c *clientRun) {
			n := c.connect()
			c.refuseOthers()
			n.write(announce(0, "sensors/a")[:9])
			_ = n.conn.Close()
			c.alive()
		}},
	}
}

// lost returns a failure if the connection has ended. The caller holds run.mu.
func (n *node) lost() string {
	if n.ended == nil {
		return ""
	}
	return n.seen()
}

// takeLeave waits for the GOAWAY ok of a client, which may end its subscriptions and calls before. Then it closes the connection.
func (n *node) takeLeave() {
	want := "GOAWAY ok"
	for {
		f := n.take(want, native.Goaway, native.Unsub, native.Offer, native.Ack, native.Nak, native.Ping)
		if f.Kind() == native.Ping {
			n.write(native.AppendPing(nil, true, pingValue(f)))
			continue
		}
		if f.Kind() != native.Goaway {
			continue
		}
		if g, err := native.ParseGoaway(f); err != nil || g.Code != native.CodeOK {
			n.run.fail(want, "%s", show(f))
		}
		_ = n.conn.Close()
		return
	}
}

// reconnecting lets a client connect that dials again by itself.
func (c *clientRun) reconnecting() *node {
	n, p := c.begin(Instruction{Reconnect: true})
	n.greet()
	p.ok()
	return n
}

// resumed waits until a client has requested its tag and its subscription again, in any order, and grants both.
func (c *clientRun) resumed(n *node, tag string, number uint32, filter string) (sub native.SubFrame) {
	want := fmt.Sprintf("TAG %q and SUB of %q again", tag, filter)
	for range 2 {
		f := n.take(want, native.Tag, native.Sub)
		if f.Kind() == native.Tag {
			t, err := native.ParseTag(f)
			if err != nil || t.Name != tag {
				c.fail(want, "%s", show(f))
			}
			n.result(native.ResultFrame{Kind: native.Tag, Ref: t.Ref, Value: number})
			continue
		}
		s, err := native.ParseSub(f)
		if err != nil || s.Filter != filter || sub.ID != 0 {
			c.fail(want, "%s", show(f))
		}
		sub = s
		n.result(native.ResultFrame{Kind: native.Sub, Ref: s.ID, Stored: s.Stored(), Value: ackTime(s)})
	}
	return sub
}
