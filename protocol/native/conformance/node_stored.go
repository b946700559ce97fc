package conformance

import (
	"fmt"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

// nodeStored are the cases about stored streams. They need NodeConfig.Stored.
func nodeStored() []nodeCase {
	return []nodeCase{
		{Case{"stored/publish", "Stored streams", "RESULT of a stored tag has flag 01, and CREDIT returns the bytes of each message when it is stored."}, func(r *nodeRun) {
			c := r.connectVersion(native.StoredVersion)
			n := c.storedPublisher(r.stored("a"))
			c.publish(n, "1", "2", "3")
			c.settled(n)
		}},
		{Case{"stored/ping", "Stored streams", "The response to a PING comes after the CREDIT of all messages before it."}, func(r *nodeRun) {
			c := r.connectVersion(native.StoredVersion)
			n := c.storedPublisher(r.stored("a"))
			for i := range 50 {
				c.publish(n, fmt.Sprint(i))
			}
			c.barrier("a connection")
			r.mu.Lock()
			left := c.rules.debt[n]
			r.mu.Unlock()
			if left != 0 {
				r.fail("CREDIT for all messages before the response to PING", "%d bytes are missing", left)
			}
		}},
		{Case{"stored/reader", "Stored streams", "A subscription from the first message gets messages by name: their tag, and sequence numbers that grow."}, func(r *nodeRun) {
			c := r.connectVersion(native.StoredVersion)
			a, b := c.storedPublisher(r.stored("a")), c.storedPublisher(r.stored("b"))
			c.publish(a, "1")
			c.settled(a)
			c.publish(b, "2")
			c.settled(b)
			if v := c.subscribe(native.SubFrame{ID: 1, Filter: r.stored("#"), Start: native.StartFirst}); !v.Stored {
				r.fail("RESULT with flag 01", "no flag")
			}
			first, second := c.storedMessage(1, "1"), c.storedMessage(1, "2")
			if first.at.Sequence >= second.at.Sequence || first.tag != r.stored("a") || second.tag != r.stored("b") || first.at.Deliveries != 0 {
				r.fail("messages on the tags that they were published on, in order, not delivered before", "%q %d, %q %d", first.tag, first.at.Sequence, second.tag, second.at.Sequence)
			}
			c.publish(a, "3")
			c.storedMessage(1, "3")
		}},
		{Case{"stored/from", "Stored streams", "A subscription from a sequence number begins with that message, and one from new with the next one that is stored."}, func(r *nodeRun) {
			c := r.connectVersion(native.StoredVersion)
			n := c.storedPublisher(r.stored("a"))
			c.publish(n, "1", "2", "3")
			c.settled(n)
			c.subscribe(native.SubFrame{ID: 1, Filter: r.stored("#"), Start: native.StartFirst})
			c.storedMessage(1, "1")
			second := c.storedMessage(1, "2")
			c.storedMessage(1, "3")
			c.subscribe(native.SubFrame{ID: 2, Filter: r.stored("#"), Start: native.StartSequence, Value: second.at.Sequence})
			c.storedMessage(2, "2")
			c.storedMessage(2, "3")
			c.unsubscribe(1)
			c.unsubscribe(2)
			c.subscribe(native.SubFrame{ID: 3, Filter: r.stored("#"), Start: native.StartNew})
			c.publish(n, "4")
			c.storedMessage(3, "4")
		}},
		{Case{"stored/window", "Stored streams", "The window of a stored subscription is that of all its tags, and CREDIT for it has tag number ffffffff."}, func(r *nodeRun) {
			c := r.connectVersion(native.StoredVersion)
			a, b := c.storedPublisher(r.stored("a")), c.storedPublisher(r.stored("b"))
			c.publish(a, "1")
			c.settled(a)
			c.publish(b, "2")
			c.settled(b)
			c.subscribe(native.SubFrame{ID: 1, Filter: r.stored("#"), Start: native.StartFirst, Window: 1})
			m := c.storedMessage(1, "1")
			c.barrier("a connection")
			c.none("no message without credit")
			c.allow(native.ByName, len(m.frame))
			c.storedMessage(1, "2")
		}},
		{Case{"stored/idempotency", "Extensions", "Of the messages with one idempotency key the stream stores one, and CREDIT returns the bytes of all."}, func(r *nodeRun) {
			c := r.connectVersion(native.StoredVersion)
			n := c.storedPublisher(r.stored("a"))
			for _, text := range []string{"1", "1"} {
				id := native.AppendTLV(nil, native.TLVID, r.name)
				c.send(n, native.AppendExtendedPub(nil, native.PubHeader{Type: ferry.JSON, Tag: n, Source: c.source(), Time: 1}, id, []byte(text)))
			}
			c.publish(n, "2")
			c.settled(n)
			c.subscribe(native.SubFrame{ID: 1, Filter: r.stored("#"), Start: native.StartFirst})
			if id, _ := native.Entry(c.storedMessage(1, "1").frame.Extension(), native.TLVID); string(id) != r.name {
				r.fail("the idempotency key "+r.name, "%q", id)
			}
			c.storedMessage(1, "2")
		}},
		{Case{"stored/live", "Stored streams", "A subscription without start and durable gets the messages of a stored tag, too."}, func(r *nodeRun) {
			c := r.connectVersion(native.StoredVersion)
			c.subscribe(native.SubFrame{ID: 1, Filter: r.stored("#")})
			c.publish(c.storedPublisher(r.stored("a")), "1")
			c.message(1, "1")
		}},
		{Case{"durable/ack", "Stored streams", "A durable does not deliver again what was acknowledged, and goes on behind it for its next member."}, func(r *nodeRun) {
			c, _ := r.billing()
			c.ack(c.storedMessage(1, "1"))
			c.unsubscribe(1)
			next := r.connectVersion(native.StoredVersion)
			next.subscribe(r.durable(native.SubFrame{}))
			if m := next.storedMessage(1, "2"); m.at.Deliveries > 1 {
				r.fail("a message that was delivered at most once before", "%d times", m.at.Deliveries)
			}
			next.storedMessage(1, "3")
		}},
		{Case{"durable/wait", "Stored streams", "RESULT of a durable has flag 01, and says how long the node waits for ACK."}, func(r *nodeRun) {
			_, v := r.billing()
			if !v.Stored || v.Value == 0 {
				r.fail("RESULT with flag 01 and a time", "%+v", v)
			}
		}},
		{Case{"durable/nak", "Stored streams", "After NAK the message is delivered again, and says how many times it was delivered before."}, func(r *nodeRun) {
			c, _ := r.billing()
			m := c.storedMessage(1, "1")
			second, third := c.storedMessage(1, "2"), c.storedMessage(1, "3")
			c.nak(m, 0, 1)
			c.nak(second, native.FlagNotTried, 0)
			c.nak(third, native.FlagNotTried, 0)
			again := c.storedMessage(1, "1")
			if again.at.Sequence != m.at.Sequence || again.at.Deliveries != 1 {
				r.fail(fmt.Sprintf("message %d, delivered once before", m.at.Sequence), "%d, %d times", again.at.Sequence, again.at.Deliveries)
			}
			c.ack(again)
			if second = c.storedMessage(1, "2"); second.at.Deliveries != 0 {
				r.fail("a message whose NAK said not tried, and which does not count as delivered", "%d times", second.at.Deliveries)
			}
			c.ack(second)
			c.storedMessage(1, "3")
		}},
		{Case{"durable/reject", "Stored streams", "A rejected message is not delivered again."}, func(r *nodeRun) {
			c, _ := r.billing()
			m := c.storedMessage(1, "1")
			second, third := c.storedMessage(1, "2"), c.storedMessage(1, "3")
			c.nak(m, native.FlagReject, 0)
			c.ack(second)
			c.ack(third)
			c.publish(c.storedPublisher(r.stored("a")), "4")
			c.storedMessage(1, "4")
		}},
		{Case{"durable/lost", "Stored streams", "When a member's connection ends, what it holds is delivered to another member, and counts as delivered."}, func(r *nodeRun) {
			c, _ := r.billing()
			c.storedMessage(1, "1")
			_ = c.conn.Close()
			next := r.connectVersion(native.StoredVersion)
			next.subscribe(r.durable(native.SubFrame{}))
			if m := next.storedMessage(1, "1"); m.at.Deliveries != 1 {
				r.fail("a message that was delivered once before", "%d times", m.at.Deliveries)
			}
		}},
		{Case{"durable/not-tried", "Stored streams", "What UNSUB with flag 02 returns does not count as delivered."}, func(r *nodeRun) {
			c, _ := r.billing()
			c.storedMessage(1, "1")
			c.write(native.AppendUnsubNotTried(nil, 1))
			c.barrier("a connection")
			next := r.connectVersion(native.StoredVersion)
			next.subscribe(r.durable(native.SubFrame{}))
			if m := next.storedMessage(1, "1"); m.at.Deliveries != 0 {
				r.fail("a message that was not delivered before", "%d times", m.at.Deliveries)
			}
		}},
		{Case{"durable/unknown-numbers", "Stored streams", "ACK and NAK of messages that the subscription does not hold, and of one that has ended, are ignored."}, func(r *nodeRun) {
			c, _ := r.billing()
			m := c.storedMessage(1, "1")
			c.write(native.AppendAck(nil, native.AckFrame{Sub: 1, Ranges: native.AppendRange(nil, native.Range{First: 1 << 50, Count: 7})}))
			c.ack(m)
			c.ack(m)
			c.unsubscribe(1)
			c.ack(m)
			c.barrier("a connection")
		}},
		{Case{"durable/where", "Stored streams", "A durable delivers only messages for which its predicate is true."}, func(r *nodeRun) {
			c := r.connectVersion(native.StoredVersion)
			n := c.storedPublisher(r.stored("a"))
			c.publish(n, `{"v":1}`, `{"v":31}`, `{"v":2}`, `{"v":32}`)
			c.settled(n)
			c.subscribe(r.durable(native.SubFrame{Where: "v > 30"}))
			c.storedMessage(1, `{"v":31}`)
			c.storedMessage(1, `{"v":32}`)
			c.none("only messages for which the predicate is true")
		}},
		{Case{"durable/members", "Stored streams", "Members of a durable must have the same filter and predicate: RESULT refuses another one."}, func(r *nodeRun) {
			r.billing()
			c := r.connectVersion(native.StoredVersion)
			s := r.durable(native.SubFrame{Where: "v > 30", Window: 1000})
			if v := c.request(native.AppendSub(nil, s), native.Sub, s.ID); v.Code == native.CodeOK {
				r.fail("a RESULT that refuses another predicate", "ok")
			}
		}},
	}
}

// durable returns the SUB of the durable of a case.
func (r *nodeRun) durable(s native.SubFrame) native.SubFrame {
	s.ID, s.Filter, s.Start, s.Durable = 1, r.stored("#"), native.StartFirst, r.name
	return s
}

// billing publishes the messages 1, 2 and 3 on one tag, and subscribes to a durable that reads them.
func (r *nodeRun) billing() (*client, native.ResultFrame) {
	c := r.connectVersion(native.StoredVersion)
	n := c.storedPublisher(r.stored("a"))
	c.publish(n, "1", "2", "3")
	c.settled(n)
	return c, c.subscribe(r.durable(native.SubFrame{}))
}

// storedPublisher is publisherOnce for a stored tag.
func (c *client) storedPublisher(tag string) uint32 {
	v := c.requestTag(tag)
	c.granted(v, "publish on "+tag)
	if !v.Stored {
		c.run.fail("RESULT with flag 01 for "+tag, "no flag: the node does not store the tag")
	}
	c.run.mu.Lock()
	c.rules.published[v.Value] = int64(c.welcome.Window)
	c.run.mu.Unlock()
	return v.Value
}

// settled waits until CREDIT has returned all bytes of a tag.
func (c *client) settled(number uint32) {
	c.run.await("CREDIT for all messages of a stored tag", func() (bool, string) {
		if c.ended != nil {
			return false, c.seen()
		}
		return c.rules.debt[number] == 0, ""
	}, c.seen)
}

// storedDelivery is a message of a stored subscription.
type storedDelivery struct {
	delivered
	at native.StoredPub
}

// storedMessage waits for the next message, which comes from a stream.
func (c *client) storedMessage(sub uint32, text string) storedDelivery {
	m := c.message(sub, text)
	at, err := native.ParseStored(m.frame)
	if m.frame.Tag() != native.ByName || err != nil {
		c.run.fail("a PUB by name, with a sequence number", "%s", show(m.frame))
	}
	return storedDelivery{m, at}
}

// ack acknowledges a message of subscription 1.
func (c *client) ack(m storedDelivery) {
	c.write(native.AppendAck(nil, native.AckFrame{Sub: 1, Ranges: native.AppendRange(nil, native.Range{First: m.at.Sequence, Count: 1})}))
}

// nak says that a message of subscription 1 has failed.
func (c *client) nak(m storedDelivery, flags byte, delay uint32) {
	c.write(native.AppendNak(nil, native.NakFrame{Sub: 1, Flags: flags, Delay: delay, Reason: "by the kit", Ranges: native.AppendRange(nil, native.Range{First: m.at.Sequence, Count: 1})}))
}
