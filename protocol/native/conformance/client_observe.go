package conformance

import (
	"bytes"
	"fmt"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

// clientObserve are the cases about SUB, SELECT and the PUBs of a node.
func clientObserve() []clientCase {
	return []clientCase{
		{Case{"observe/subscribe", "A connection", "SUB names filter, group, predicate, policy, window and queue, under an id that is not 0."}, func(c *clientRun) {
			n := c.connect()
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "sensors/+/#", Where: "v > 30", Group: "g", Policy: "drop-oldest", Window: 65536, Queue: 4096})
			want := native.SubFrame{ID: s.ID, Policy: native.DropOldest, Window: 65536, Queue: 4096, Filter: "sensors/+/#", Group: "g", Where: "v > 30"}
			if s != want {
				c.fail(fmt.Sprintf("SUB with %+v", want), "%+v", s)
			}
		}},
		{Case{"observe/message", "A connection", "The handler gets tag, type, payload, time and source of a PUB behind the SELECT of its subscription."}, func(c *clientRun) {
			n := c.connect()
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "sensors/#"})
			n.deliver(s.ID, announce(7, "sensors/a"), jsonPub(7, `{"v":31}`))
			m := c.message(1, []byte(`{"v":31}`))
			if m.Tag != "sensors/a" || m.Type != "json" || m.Time != sampleTime || m.Source != 3 {
				c.fail(fmt.Sprintf("tag sensors/a, type json, time %d, source 3", int64(sampleTime)), "%v", m)
			}
		}},
		{Case{"observe/order", "A connection", "The messages of one source on one tag are handled in their order."}, func(c *clientRun) {
			n := c.connect()
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "#"})
			frames := [][]byte{announce(0, "a")}
			for i := range 200 {
				frames = append(frames, jsonPub(0, fmt.Sprint(i)))
			}
			n.deliver(s.ID, frames...)
			for i := range 200 {
				c.message(1, fmt.Append(nil, i))
			}
		}},
		{Case{"observe/select", "Kinds", "SELECT says which subscription the PUBs behind it are for."}, func(c *clientRun) {
			n := c.connect()
			first := c.subscribe(n, Instruction{Sub: 1, Filter: "#"})
			second := c.subscribe(n, Instruction{Sub: 2, Filter: "a"})
			n.deliver(second.ID, announce(0, "a"), jsonPub(0, "1"))
			c.message(2, []byte("1"))
			n.deliver(first.ID, jsonPub(0, "2"), jsonPub(0, "3"))
			c.message(1, []byte("2"))
			c.message(1, []byte("3"))
			n.deliver(second.ID, jsonPub(0, "4"))
			c.message(2, []byte("4"))
		}},
		{Case{"observe/renumber", "A connection", "A later TAG of the node gives another meaning to a number."}, func(c *clientRun) {
			n := c.connect()
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "#"})
			n.deliver(s.ID, announce(4, "a"), jsonPub(4, "1"))
			if m := c.message(1, []byte("1")); m.Tag != "a" {
				c.fail("tag a", "%v", m)
			}
			n.deliver(s.ID, announce(4, "b"), jsonPub(4, "2"))
			if m := c.message(1, []byte("2")); m.Tag != "b" {
				c.fail("tag b", "%v", m)
			}
		}},
		{Case{"observe/types", "Frame header, 8 bytes", "The handler gets the type of each payload."}, func(c *clientRun) {
			n := c.connect()
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "#"})
			for t := ferry.Raw; t <= ferry.LastType; t++ {
				n.deliver(s.ID, announce(0, "a"), native.AppendPub(nil, native.PubHeader{Type: t, Source: 3, Time: 1}, []byte("x")))
				if m := c.message(1, []byte("x")); m.Type != t.String() && (m.Type != "" || t != ferry.Raw) {
					c.fail("type "+t.String(), "%v", m)
				}
			}
		}},
		{Case{"observe/refused", "Tags and filters", "If RESULT refuses the subscription, subscribing fails with its code, and the connection goes on."}, func(c *clientRun) {
			n := c.connect()
			p := c.tell(Instruction{Do: "subscribe", Sub: 1, Filter: "secret/#"})
			s := n.takeSub("secret/#")
			n.result(native.ResultFrame{Kind: native.Sub, Ref: s.ID, Code: native.CodeForbidden, Reason: "no"})
			p.refused(int(native.CodeForbidden))
			n.barrier("a connection")
			n.drop(native.Unsub)
			c.subscribe(n, Instruction{Sub: 2, Filter: "a"})
		}},
		{Case{"observe/revoked", "A connection", "A second RESULT of a SUB, with forbidden, ends the subscription, and nothing else."}, func(c *clientRun) {
			n := c.connect()
			ending := c.subscribe(n, Instruction{Sub: 1, Filter: "a"})
			other := c.subscribe(n, Instruction{Sub: 2, Filter: "b"})
			n.result(native.ResultFrame{Kind: native.Sub, Ref: ending.ID, Code: native.CodeForbidden, Reason: "not any more"})
			if e := c.event("ended", "the event ended of subscription 1"); e.Sub != 1 || e.Code != nil && *e.Code != int(native.CodeForbidden) {
				c.fail("the event ended of subscription 1, with code 4", "%v", e)
			}
			n.deliver(other.ID, announce(1, "b"), jsonPub(1, "1"))
			c.message(2, []byte("1"))
		}},
		{Case{"observe/unsubscribe", "A connection", "The client sends UNSUB, and ignores the PUBs that cross it."}, func(c *clientRun) {
			n := c.connect()
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "a"})
			p := c.tell(Instruction{Do: "unsubscribe", Sub: 1})
			f := n.take("UNSUB", native.Unsub)
			if id, _ := native.ParseNumber(f); id != s.ID {
				c.fail(fmt.Sprintf("UNSUB of %d", s.ID), "%s", show(f))
			}
			p.ok()
			n.deliver(s.ID, announce(1, "a"), jsonPub(1, "1"))
			n.barrier("a connection")
			c.alive()
			c.quiet("no message for a subscription that has ended", "message")
		}},
		{Case{"observe/addressed", "A connection", "A subscription for messages that are addressed to the client has flag 01."}, func(c *clientRun) {
			n := c.connect()
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "answers", Addressed: true})
			if !s.Addressed {
				c.fail("SUB with flag 01", "%+v", s)
			}
			n.deliver(s.ID, announce(1, "answers"), native.AppendPub(nil, native.PubHeader{Flags: native.FlagAddressed, Tag: 1, Source: 7, Time: 1}, []byte("x")))
			c.message(1, []byte("x"))
		}},
		{Case{"observe/credit", "A connection", "The client returns credit for what it has handled, so that messages of many windows arrive, and never more than it has received."}, func(c *clientRun) {
			n := c.connect()
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "#", Window: 2000})
			n.write(announce(0, "a"))
			for i := range 500 {
				n.returned(s.ID, 0)
				n.deliver(s.ID, jsonPub(0, fmt.Sprint(i)))
			}
			for i := range 500 {
				c.message(1, fmt.Append(nil, i))
			}
		}},
		{Case{"observe/credit-tags", "A connection", "The window is that of each tag: CREDIT names the tag number of the messages."}, func(c *clientRun) {
			n := c.connect()
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "#", Window: 100})
			n.write(announce(0, "a"), announce(1, "b"))
			for i := range 40 {
				number := uint32(i % 2)
				n.returned(s.ID, number)
				n.deliver(s.ID, jsonPub(number, fmt.Sprint(i)))
				c.message(1, fmt.Append(nil, i))
			}
		}},
		{Case{"observe/largest", "Frame header, 8 bytes", "A PUB of exactly the maximum length of WELCOME is handled."}, func(c *clientRun) {
			n := c.connect()
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "#"})
			payload := bytes.Repeat([]byte("x"), native.DefaultMaxFrame-native.PubHeaderSize)
			n.deliver(s.ID, announce(0, "a"), native.AppendPub(nil, native.PubHeader{Source: 3, Time: 1}, payload))
			c.message(1, payload)
		}},
		{Case{"observe/no-payload", "Kinds", "A PUB without payload is a message."}, func(c *clientRun) {
			n := c.connect()
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "#"})
			n.deliver(s.ID, announce(0, "a"), native.AppendPub(nil, native.PubHeader{Source: 3, Time: 1}, nil))
			c.message(1, nil)
		}},
		{Case{"observe/split", "Frame header, 8 bytes", "Frames that arrive byte by byte are those that were sent."}, func(c *clientRun) {
			n := c.connect()
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "#"})
			frames := [][]byte{native.AppendSelect(nil, s.ID), announce(0, "a"), jsonPub(0, `{"v":1}`), jsonPub(0, `{"v":2}`)}
			n.count(s.ID, frames...)
			n.writeSplit(frames...)
			c.message(1, []byte(`{"v":1}`))
			c.message(1, []byte(`{"v":2}`))
		}},
		{Case{"observe/cuts", "Frame header, 8 bytes", "Frames may be cut at any byte: each read ends at another one."}, func(c *clientRun) {
			n := c.connect()
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "#"})
			one := bytes.Join([][]byte{native.AppendSelect(nil, s.ID), announce(0, "a"), jsonPub(0, `{"v":1}`)}, nil)
			for cut := range one {
				n.count(s.ID, jsonPub(0, `{"v":1}`))
				n.write(one[:cut])
				n.write(one[cut:])
			}
			for range one {
				c.message(1, []byte(`{"v":1}`))
			}
		}},
		{Case{"observe/segment", "Frame header, 8 bytes", "Many frames in one segment are handled, also those of other kinds between them."}, func(c *clientRun) {
			n := c.connect()
			first := c.subscribe(n, Instruction{Sub: 1, Filter: "#"})
			second := c.subscribe(n, Instruction{Sub: 2, Filter: "#"})
			frames := [][]byte{announce(0, "a"), announce(1, "b")}
			for i := range 50 {
				one := [][]byte{jsonPub(0, fmt.Sprint(i)), native.AppendPing(nil, false, uint64(i)), native.AppendSelect(nil, second.ID), jsonPub(1, fmt.Sprint(i)), native.AppendSelect(nil, first.ID)}
				n.count(first.ID, one[0])
				n.count(second.ID, one[3])
				frames = append(frames, one...)
			}
			n.deliver(first.ID, frames...)
			for range 100 {
				c.event("message", "100 messages")
			}
		}},
		{Case{"observe/extension", "Extensions", "The client skips entries of an extension that it does not know, padding, and private ones."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "#"})
			extension := native.AppendTLV([]byte{0, 0}, 77, "later")
			extension = native.AppendTLV(append(extension, 0), 200, "private")
			extension = native.AppendTLV(extension, native.TLVTraceContext, make([]byte, 26))
			n.deliver(s.ID, announce(0, "a"), native.AppendExtendedPub(nil, native.PubHeader{Type: ferry.JSON, Source: 3, Time: 1}, extension, []byte("1")))
			c.message(1, []byte("1"))
		}},
		{Case{"observe/functions", "Extensions", "What a handler publishes has the entry 12: that of the message that it handles, and 0 if that has none."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			s := c.subscribe(n, Instruction{Sub: 1, Filter: "a", Publish: "b"})
			pub := func(functions []byte, text string) []byte {
				h := native.PubHeader{Type: ferry.JSON, Source: 3, Time: 1}
				if functions == nil {
					return native.AppendPub(nil, h, []byte(text))
				}
				return native.AppendExtendedPub(nil, h, native.AppendTLV(nil, native.TLVFunctions, functions), []byte(text))
			}
			published := func(functions uint8, text string) {
				f := n.takePub(7, []byte(text))
				if value, ok := native.Entry(f.Extension(), native.TLVFunctions); !ok || len(value) != 1 || value[0] != functions {
					c.fail(fmt.Sprintf("PUB with the entry 12, which is %d", functions), "%s", show(f))
				}
			}
			n.deliver(s.ID, announce(0, "a"), pub(nil, "1"))
			n.grant("b", 7, false)
			published(0, "1")
			n.deliver(s.ID, pub([]byte{5}, "2"))
			published(5, "2")
			n.deliver(s.ID, pub(nil, "3"))
			published(0, "3")
			p := c.publish("c", `"x"`)
			n.grant("c", 8, false)
			if f := n.takePub(8, []byte(`"x"`)); f.HasExtension() {
				c.fail("PUB without an extension, of no handler", "%s", show(f))
			}
			p.ok()
		}},
		{Case{"observe/later-fields", "Frame header, 8 bytes", "The client ignores unknown flags, and bytes behind the fields that it knows."}, func(c *clientRun) {
			n := c.connect()
			p := c.tell(Instruction{Do: "subscribe", Sub: 1, Filter: "#"})
			s := n.takeSub("#")
			n.run.mu.Lock()
			n.rules.result(native.ResultFrame{Kind: native.Sub, Ref: s.ID})
			n.run.mu.Unlock()
			flagged := func(f []byte) []byte {
				f[5] |= 0xc0
				return f
			}
			n.write(flagged(withTail(native.AppendResult(nil, native.ResultFrame{Kind: native.Sub, Ref: s.ID}), 1, 2, 3)))
			p.ok()
			n.count(s.ID, jsonPub(0, "1"))
			n.write(flagged(withTail(native.AppendSelect(nil, s.ID), 9)), flagged(withTail(announce(0, "a"), 0, 0, 9)), flagged(jsonPub(0, "1")),
				flagged(withTail(native.AppendCredit(nil, native.CreditFrame{Tag: 4711, Bytes: 1}), 9)))
			c.message(1, []byte("1"))
			n.barrier("a connection")
		}},
	}
}
