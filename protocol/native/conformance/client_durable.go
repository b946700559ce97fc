package conformance

import (
	"fmt"
	"slices"
	"strings"

	"example.com/ferry/protocol/native"
)

// clientDurable are the cases about subscriptions that read a stream.
func clientDurable() []clientCase {
	return []clientCase{
		{Case{"durable/subscribe", "Stored streams", "SUB names the durable and where it begins."}, func(c *clientRun) {
			n := c.connectVersion(native.StoredVersion)
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "orders/#", Durable: "billing", From: "sequence", Value: 1 << 60})
			if s.Durable != "billing" || s.Start != native.StartSequence || s.Value != 1<<60 {
				c.fail("SUB with durable billing, from sequence number 2^60", "%+v", s)
			}
		}},
		{Case{"durable/starts", "Stored streams", "The starts new, first, sequence and time have the numbers 1 to 4."}, func(c *clientRun) {
			n := c.connectVersion(native.StoredVersion)
			for i, from := range []string{"new", "first", "sequence", "time"} {
				value := uint64(0)
				if from == "sequence" || from == "time" {
					value = sampleTime
				}
				s := c.subscribe(n, Instruction{Sub: i + 1, Filter: "orders/#", From: from, Value: value})
				if s.Start != native.Start(i+1) || s.Value != value || s.Durable != "" {
					c.fail(fmt.Sprintf("SUB with start %d, value %d and no durable", i+1, value), "%+v", s)
				}
			}
		}},
		{Case{"durable/unknown", "Stored streams", "If RESULT has no flag 01, the node stores no streams: the client unsubscribes, and subscribing fails."}, func(c *clientRun) {
			n := c.connectVersion(native.StoredVersion)
			p := c.tell(Instruction{Do: "subscribe", Sub: 1, Filter: "orders/#", Durable: "billing"})
			s := n.takeSub("orders/#")
			n.result(native.ResultFrame{Kind: native.Sub, Ref: s.ID})
			n.take("UNSUB", native.Unsub)
			p.failed()
		}},
		{Case{"durable/message", "Stored streams", "The handler gets tag, sequence number, deliveries, key and idempotency key of the extension."}, func(c *clientRun) {
			n, s := c.billing(Instruction{})
			f := native.AppendStoredPub(nil, native.PubHeader{Flags: native.FlagValid, Type: 4, Time: sampleTime}, native.Stored{Tag: "orders/17", Sequence: 1<<40 + 1, Deliveries: 2},
				native.AppendTLV(native.AppendTLV(native.AppendTLV(nil, native.TLVKey, "k1"), native.TLVID, "o-17"), 99, "later"), []byte("1"))
			n.deliver(s.ID, f)
			m := c.message(1, []byte("1"))
			if m.Tag != "orders/17" || m.Sequence != 1<<40+1 || m.Deliveries != 2 || m.Key != "k1" || m.MessageID != "o-17" || m.Type != "json" || m.Time != sampleTime {
				c.fail("tag orders/17, sequence number 2^40 + 1, 2 deliveries, key k1, idempotency key o-17, type json, the time of the message", "%v", m)
			}
		}},
		{Case{"durable/ack", "Stored streams", "A message whose handler has succeeded is acknowledged, once."}, func(c *clientRun) {
			n, s := c.billing(Instruction{})
			n.deliver(s.ID, storedPub("orders/1", 5, 0, "", "1"), storedPub("orders/1", 6, 0, "", "2"), storedPub("orders/2", 9, 0, "", "3"))
			n.takeAcks(s.ID, 5, 6, 9)
		}},
		{Case{"durable/ack-after", "Stored streams", "A message is acknowledged after its handler has succeeded, not before."}, func(c *clientRun) {
			n, s := c.billing(Instruction{Outcomes: []string{"hold"}})
			n.deliver(s.ID, storedPub("orders/1", 5, 0, "", "1"))
			c.message(1, []byte("1"))
			n.barrier("a client that handles a message")
			n.quiet("no ACK before the handler has returned", native.Ack)
			c.tell(Instruction{Do: "release", Sub: 1}).ok()
			n.takeAcks(s.ID, 5)
		}},
		{Case{"durable/nak", "Stored streams", "A message whose handler has failed gets NAK, and is handled again when it is delivered again."}, func(c *clientRun) {
			n, s := c.billing(Instruction{Outcomes: []string{"fail", "ok"}})
			n.deliver(s.ID, storedPub("orders/1", 5, 0, "", "1"))
			if v := n.takeNak(s.ID); v.Flags != 0 {
				c.fail("NAK without flags", "flags %02x", v.Flags)
			}
			n.deliver(s.ID, storedPub("orders/1", 5, 1, "", "1"))
			n.takeAcks(s.ID, 5)
			c.message(1, []byte("1"))
			if m := c.message(1, []byte("1")); m.Deliveries != 1 {
				c.fail("a message with 1 earlier delivery", "%v", m)
			}
		}},
		{Case{"durable/delay", "Stored streams", "NAK carries the time after which the handler wants the message again."}, func(c *clientRun) {
			n, s := c.billing(Instruction{Outcomes: []string{"fail:1500"}})
			n.deliver(s.ID, storedPub("orders/1", 5, 0, "", "1"))
			if v := n.takeNak(s.ID); v.Delay != 1500 || v.Flags != 0 {
				c.fail("NAK with a delay of 1500 ms", "%d ms, flags %02x", v.Delay, v.Flags)
			}
		}},
		{Case{"durable/reject", "Stored streams", "A message that the handler rejects gets NAK with flag 01."}, func(c *clientRun) {
			n, s := c.billing(Instruction{Outcomes: []string{"reject", "ok"}})
			n.deliver(s.ID, storedPub("orders/1", 5, 0, "", "1"))
			if v := n.takeNak(s.ID); v.Flags != native.FlagReject {
				c.fail("NAK with flag 01, reject", "flags %02x", v.Flags)
			}
		}},
		{Case{"durable/not-tried", "Stored streams", "After a NAK the client does not handle later messages with the key: they get NAK not tried, until the failed message comes again."}, func(c *clientRun) {
			n, s := c.billing(Instruction{Outcomes: []string{"fail", "ok"}})
			n.deliver(s.ID, storedPub("orders/1", 5, 0, "", "1"), storedPub("orders/1", 6, 0, "", "2"))
			got := map[uint64]byte{}
			for range 2 {
				f := n.take("NAK of 5, and NAK not tried of 6", native.Nak)
				v, err := native.ParseNak(f)
				if err != nil || v.Sub != s.ID {
					c.fail("NAK of 5, and NAK not tried of 6", "%s", show(f))
				}
				for _, number := range numbers(v.Ranges) {
					got[number] = v.Flags
				}
				if len(got) == 2 {
					break
				}
			}
			if flags, ok := got[5]; !ok || flags != 0 || got[6] != native.FlagNotTried {
				c.fail("NAK of 5 without flags, and of 6 with flag 02, not tried", "%v", got)
			}
			n.deliver(s.ID, storedPub("orders/1", 5, 1, "", "1"), storedPub("orders/1", 6, 0, "", "2"))
			n.takeAcks(s.ID, 5, 6)
			for _, text := range []string{"1", "1", "2"} {
				c.message(1, []byte(text))
			}
		}},
		{Case{"durable/other-key", "Stored streams", "A failed message delays those with its key only."}, func(c *clientRun) {
			n, s := c.billing(Instruction{Outcomes: []string{"fail", "ok"}})
			n.deliver(s.ID, storedPub("orders/1", 5, 0, "a", "1"))
			n.takeNak(s.ID)
			n.deliver(s.ID, storedPub("orders/1", 6, 0, "b", "2"))
			n.takeAcks(s.ID, 6)
		}},
		{Case{"durable/key-order", "Stored streams", "Messages with one key are handled one after the other, in order, also if their tags differ."}, func(c *clientRun) {
			n, s := c.billing(Instruction{})
			var frames [][]byte
			var all []uint64
			for i := range 50 {
				frames = append(frames, storedPub(fmt.Sprintf("orders/%d", i%5), uint64(i+1), 0, "k", fmt.Sprint(i)))
				all = append(all, uint64(i+1))
			}
			n.deliver(s.ID, frames...)
			n.takeAcks(s.ID, all...)
			for i := range 50 {
				c.message(1, fmt.Append(nil, i))
			}
		}},
		{Case{"durable/progress", "Stored streams", "While a handler runs, the client says in time that its messages are in progress."}, func(c *clientRun) {
			n := c.connectVersion(native.StoredVersion)
			p := c.tell(Instruction{Do: "subscribe", Sub: 1, Filter: "orders/#", Durable: "billing", From: "first", Outcomes: []string{"hold"}})
			s := n.takeSub("orders/#")
			n.result(native.ResultFrame{Kind: native.Sub, Ref: s.ID, Stored: true, Value: 600})
			p.ok()
			n.deliver(s.ID, storedPub("orders/1", 5, 0, "", "1"))
			c.message(1, []byte("1"))
			c.await("ACKs in progress while the handler runs", func() (bool, string) { return n.rules.beats >= 2, n.lost() }, n.seen)
			c.tell(Instruction{Do: "release", Sub: 1}).ok()
			n.takeAcks(s.ID, 5)
		}},
		{Case{"durable/credit", "Stored streams", "The window is one for the whole subscription: CREDIT has tag number ffffffff."}, func(c *clientRun) {
			n, s := c.billing(Instruction{Window: 1000})
			for i := range 60 {
				n.returned(s.ID, native.ByName)
				n.deliver(s.ID, storedPub(fmt.Sprintf("orders/%d", i), uint64(i+1), 0, "", strings.Repeat("7", 50)))
				c.message(1, []byte(strings.Repeat("7", 50)))
			}
		}},
		{Case{"durable/largest", "Stored streams", "The node may add 4 KiB to a message: such a frame exceeds the maximum, and is handled."}, func(c *clientRun) {
			const maxFrame = 30_000
			n := c.connectVersion(native.StoredVersion, func(w *native.WelcomeFrame) { w.MaxFrame = maxFrame })
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "orders/#", Durable: "billing", From: "first"})
			payload := strings.Repeat("7", maxFrame-native.PubHeaderSize)
			n.deliver(s.ID, storedPub("orders/"+strings.Repeat("a", 1000), 5, 0, strings.Repeat("k", 255), payload))
			n.takeAcks(s.ID, 5)
			c.message(1, []byte(payload))
		}},
		{Case{"durable/long-extension", "Extensions", "An extension of 255 words or more has its length behind the fixed fields."}, func(c *clientRun) {
			n, s := c.billing(Instruction{})
			extension := native.AppendTLV(nil, 130, strings.Repeat("p", 4000))
			n.deliver(s.ID, native.AppendStoredPub(nil, native.PubHeader{Type: 4, Time: 1}, native.Stored{Tag: "orders/1", Sequence: 5}, extension, []byte("1")))
			if m := c.message(1, []byte("1")); m.Tag != "orders/1" || m.Sequence != 5 {
				c.fail("tag orders/1, sequence number 5", "%v", m)
			}
			n.takeAcks(s.ID, 5)
		}},
		{Case{"durable/reader", "Stored streams", "Without a durable the client reads a stream, and acknowledges nothing."}, func(c *clientRun) {
			n := c.connectVersion(native.StoredVersion)
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "orders/#", From: "first"})
			n.deliver(s.ID, storedPub("orders/1", 5, 0, "", "1"))
			if m := c.message(1, []byte("1")); m.Sequence != 5 {
				c.fail("sequence number 5", "%v", m)
			}
			c.tell(Instruction{Do: "unsubscribe", Sub: 1}).ok()
			n.take("UNSUB, without ACK or NAK before", native.Unsub)
		}},
		{Case{"durable/unsubscribe", "Stored streams", "The client has acknowledged what it has handled before it sends UNSUB."}, func(c *clientRun) {
			n, s := c.billing(Instruction{})
			n.deliver(s.ID, storedPub("orders/1", 5, 0, "", "1"))
			c.message(1, []byte("1"))
			p := c.tell(Instruction{Do: "unsubscribe", Sub: 1})
			n.takeAcks(s.ID, 5)
			n.take("UNSUB", native.Unsub)
			p.ok()
		}},
		{Case{"durable/again", "Stored streams", "On the next connection the client subscribes to the durable again, and its messages are delivered again."}, func(c *clientRun) {
			n := c.reconnecting()
			n.needs(native.StoredVersion)
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "orders/#", Durable: "billing", From: "first", Outcomes: []string{"hold", "ok"}})
			n.deliver(s.ID, storedPub("orders/1", 5, 0, "", "1"))
			c.message(1, []byte("1"))
			_ = n.conn.Close()
			second := c.next()
			second.greet()
			again := second.takeSub("orders/#")
			if again.Durable != "billing" {
				c.fail("SUB of durable billing", "%+v", again)
			}
			second.result(native.ResultFrame{Kind: native.Sub, Ref: again.ID, Stored: true, Value: 30_000})
			c.tell(Instruction{Do: "release", Sub: 1}).ok()
			second.deliver(again.ID, storedPub("orders/1", 5, 1, "", "1"))
			second.takeAcks(again.ID, 5)
		}},
	}
}

// billing lets the client connect, and subscribe to the durable billing.
func (c *clientRun) billing(in Instruction) (*node, native.SubFrame) {
	n := c.connectVersion(native.StoredVersion)
	in.Sub, in.Filter, in.Durable, in.From = 1, "orders/#", "billing", "first"
	return n, c.subscribe(n, in)
}

// takeAcks waits until ACKs have named exactly these sequence numbers.
func (n *node) takeAcks(sub uint32, want ...uint64) {
	text := fmt.Sprintf("ACK of subscription %d for %v", sub, want)
	var got []uint64
	for len(got) < len(want) {
		f := n.take(text, native.Ack)
		a, err := native.ParseAck(f)
		if err != nil || a.Sub != sub {
			n.run.fail(text, "%s", show(f))
		}
		got = append(got, numbers(a.Ranges)...)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		n.run.fail(text, "ACK for %v", got)
	}
}

// takeNak waits for a NAK of the message with sequence number 5.
func (n *node) takeNak(sub uint32) native.NakFrame {
	text := fmt.Sprintf("NAK of subscription %d for 5", sub)
	f := n.take(text, native.Nak)
	v, err := native.ParseNak(f)
	if err != nil || v.Sub != sub || !slices.Equal(numbers(v.Ranges), []uint64{5}) {
		n.run.fail(text, "%s", show(f))
	}
	return v
}

// maxNumbers bounds the sequence numbers of one ACK that are looked at.
const maxNumbers = 10_000

// numbers returns the sequence numbers of ranges.
func numbers(ranges []byte) (list []uint64) {
	for r := range native.RangesOf(ranges) {
		for i := range min(uint64(r.Count), maxNumbers) {
			list = append(list, r.First+i)
		}
	}
	return list
}
