package conformance

import (
	"bytes"
	"fmt"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

// clientPublish are the cases about TAG and PUB.
func clientPublish() []clientCase {
	return []clientCase{
		{Case{"publish/message", "A connection", "The client requests a tag, and publishes with the number that RESULT grants: its source id, the payload and its type."}, func(c *clientRun) {
			n := c.connect()
			p := c.publish("sensors/a", `{"v":1}`)
			n.grant("sensors/a", 5, false)
			if f := n.takePub(5, []byte(`{"v":1}`)); f.Type() != ferry.JSON || f.Flags() != 0 {
				c.fail("PUB of type 4, json, without flags", "%s", show(f))
			}
			p.ok()
		}},
		{Case{"publish/time", "Kinds", "PUB carries the time of the message in Unix nanoseconds."}, func(c *clientRun) {
			n := c.connect()
			p := c.tell(Instruction{Do: "publish", Tag: "a", Payload: HexBytes("x"), Time: sampleTime})
			n.grant("a", 5, false)
			if f := n.takePub(5, []byte("x")); f.Time() != sampleTime || f.Type() != ferry.Raw {
				c.fail(fmt.Sprintf("PUB of type 0, raw, with time %d", int64(sampleTime)), "%s", show(f))
			}
			p.ok()
		}},
		{Case{"publish/now", "Kinds", "Without a time, PUB carries the present one."}, func(c *clientRun) {
			n := c.connect()
			p := c.tell(Instruction{Do: "publish", Tag: "a", Payload: HexBytes("x")})
			n.grant("a", 5, false)
			if f := n.takePub(5, []byte("x")); f.Time() < sampleTime {
				c.fail("PUB with the present time in nanoseconds", "%s", show(f))
			}
			p.ok()
		}},
		{Case{"publish/once", "A connection", "The client requests a tag once, and publishes its messages in order."}, func(c *clientRun) {
			n := c.connect()
			for i := range 20 {
				p := c.publish("a", fmt.Sprint(i))
				if i == 0 {
					n.grant("a", 0, false)
				}
				n.takePub(0, fmt.Append(nil, i))
				p.ok()
			}
		}},
		{Case{"publish/tags", "A connection", "Each tag has a number of its own, and the largest is a number as any other."}, func(c *clientRun) {
			n := c.connect()
			for i, tag := range []string{"a", "a/", "/a", "b/ü/1"} {
				p := c.publish(tag, `"x"`)
				n.grant(tag, uint32(i*1000_000_007), false)
				n.takePub(uint32(i*1000_000_007), []byte(`"x"`))
				p.ok()
			}
		}},
		{Case{"publish/no-payload", "Kinds", "A message may have no payload."}, func(c *clientRun) {
			n := c.connect()
			p := c.tell(Instruction{Do: "publish", Tag: "a"})
			n.grant("a", 1, false)
			n.takePub(1, nil)
			p.ok()
		}},
		{Case{"publish/bytes", "Kinds", "A payload is any bytes."}, func(c *clientRun) {
			all := make([]byte, 256)
			for i := range all {
				all[i] = byte(i)
			}
			n := c.connect()
			p := c.tell(Instruction{Do: "publish", Tag: "a", Payload: all})
			n.grant("a", 1, false)
			n.takePub(1, all)
			p.ok()
		}},
		{Case{"publish/after-result", "A connection", "The client publishes nothing on a tag before RESULT has granted it."}, func(c *clientRun) {
			n := c.connect()
			p := c.publish("a", `"x"`)
			t := n.takeTag("a")
			n.barrier("a client that waits for RESULT")
			n.quiet("no PUB before RESULT", native.Pub)
			n.result(native.ResultFrame{Kind: native.Tag, Ref: t.Ref, Value: 9})
			n.takePub(9, []byte(`"x"`))
			p.ok()
		}},
		{Case{"publish/forbidden", "Tags and filters", "If RESULT refuses the tag, publishing fails with its code, and the connection goes on."}, func(c *clientRun) {
			n := c.connect()
			p := c.publish("secret", `"x"`)
			t := n.takeTag("secret")
			n.result(native.ResultFrame{Kind: native.Tag, Ref: t.Ref, Code: native.CodeForbidden, Reason: "no"})
			p.refused(int(native.CodeForbidden))
			p = c.publish("a", `"y"`)
			n.grant("a", 3, false)
			n.takePub(3, []byte(`"y"`))
			p.ok()
		}},
		{Case{"publish/unknown-code", "Kinds", "A RESULT with a code that the client does not know is a refusal."}, func(c *clientRun) {
			n := c.connect()
			p := c.publish("a", `"x"`)
			t := n.takeTag("a")
			n.result(native.ResultFrame{Kind: native.Tag, Ref: t.Ref, Code: 999, Reason: "later"})
			p.refused(999)
			n.barrier("a connection")
		}},
		{Case{"publish/largest", "Frame header, 8 bytes", "The client publishes a message whose frame has exactly the maximum length of WELCOME, and refuses a longer one without sending it."}, func(c *clientRun) {
			const maxFrame = 20_000
			n := c.connect(func(w *native.WelcomeFrame) { w.MaxFrame = maxFrame })
			p := c.tell(Instruction{Do: "publish", Tag: "a", Payload: HexBytes("x"), Repeat: maxFrame - native.PubHeaderSize})
			n.grant("a", 1, false)
			n.takePub(1, bytes.Repeat([]byte("x"), maxFrame-native.PubHeaderSize))
			p.ok()
			c.tell(Instruction{Do: "publish", Tag: "a", Payload: HexBytes("x"), Repeat: maxFrame - native.PubHeaderSize + 1}).failed()
			n.barrier("a connection")
			n.quiet("no PUB of a message that is too large", native.Pub)
		}},
		{Case{"publish/mebibyte", "Frame header, 8 bytes", "With the default maximum, a frame of 1 MiB is published in whole."}, func(c *clientRun) {
			n := c.connect()
			p := c.tell(Instruction{Do: "publish", Tag: "a", Payload: HexBytes("0123456789abcdef"), Repeat: (1<<20)/16 - 2})
			n.grant("a", 1, false)
			n.takePub(1, bytes.Repeat([]byte("0123456789abcdef"), (1<<20)/16-2))
			p.ok()
		}},
		{Case{"publish/addressed", "A connection", "A message for one client has flag 01 and its source id."}, func(c *clientRun) {
			n := c.connect()
			p := c.tell(Instruction{Do: "publish", Tag: "a", Payload: HexBytes("x"), To: 77})
			n.grant("a", 1, false)
			if f := n.takePub(1, []byte("x")); f.Flags() != native.FlagAddressed || f.Source() != 77 {
				c.fail("PUB with flag 01 and source id 77", "%s", show(f))
			}
			p.ok()
		}},
		{Case{"publish/flush", "A connection", "Flush sends PING behind the messages, and ends with the response."}, func(c *clientRun) {
			n := c.connect()
			n.takePings()
			p := c.publish("a", `"x"`)
			n.grant("a", 1, false)
			n.takePub(1, []byte(`"x"`))
			p.ok()
			flush := c.tell(Instruction{Do: "flush"})
			ping := n.take("PING", native.Ping)
			if !flush.open() {
				c.fail("flush waits for the response to PING", "it ended before")
			}
			n.write(native.AppendPing(nil, true, pingValue(ping)))
			flush.ok()
		}},
		{Case{"publish/dropped", "A connection", "A NOTICE before the response to PING fails flush: the node has dropped a message."}, func(c *clientRun) {
			n := c.connect()
			n.takePings()
			p := c.publish("a", `{"v":`)
			n.grant("a", 1, false)
			n.takePub(1, []byte(`{"v":`))
			p.ok()
			flush := c.tell(Instruction{Do: "flush"})
			ping := n.take("PING", native.Ping)
			n.write(native.AppendNotice(nil, native.NoticeFrame{Tag: 1, Count: 1, Code: native.CodeInvalid, Reason: "json: it ends early"}), native.AppendPing(nil, true, pingValue(ping)))
			flush.refused(int(native.CodeInvalid))
		}},
	}
}

// takePings lets the case take PINGs and respond itself.
func (n *node) takePings() {
	n.run.mu.Lock()
	n.pings = true
	n.run.mu.Unlock()
}
