package conformance

import (
	"fmt"

	"example.com/ferry/protocol/native"
)

// clientStored are the cases about publishing at least once: CREDIT confirms that messages are stored.
func clientStored() []clientCase {
	return []clientCase{
		{Case{"stored/confirmed", "Stored streams", "On a tag whose RESULT has flag 01, a message is stored when CREDIT returns its bytes."}, func(c *clientRun) {
			n := c.connectVersion(native.StoredVersion)
			p := c.tell(Instruction{Do: "publish", Tag: "orders/1", Payload: HexBytes("1"), Stored: true})
			n.grant("orders/1", 1, true)
			f := n.takePub(1, []byte("1"))
			n.barrier("a client that waits for CREDIT")
			if !p.open() {
				c.fail("the client waits for CREDIT", "it said that the message is stored")
			}
			n.credit(1, uint32(len(f)))
			p.ok()
		}},
		{Case{"stored/not-stored", "Stored streams", "Waiting for storage fails on a tag whose RESULT has no flag 01."}, func(c *clientRun) {
			n := c.connectVersion(native.StoredVersion)
			p := c.tell(Instruction{Do: "publish", Tag: "a", Payload: HexBytes("1"), Stored: true})
			n.grant("a", 1, false)
			p.failed()
		}},
		{Case{"stored/dropped", "Stored streams", "NOTICE names the oldest messages that the client has a copy of: they were dropped, and later ones are stored."}, func(c *clientRun) {
			n := c.connectVersion(native.StoredVersion)
			p := c.tell(Instruction{Do: "publish", Tag: "orders/1", Payload: HexBytes("1"), Stored: true})
			n.grant("orders/1", 1, true)
			f := n.takePub(1, []byte("1"))
			n.write(native.AppendNotice(nil, native.NoticeFrame{Tag: 1, Count: 1, Code: native.CodeInvalid, Reason: "not JSON"}))
			n.credit(1, uint32(len(f)))
			p.refused(int(native.CodeInvalid))
			p = c.tell(Instruction{Do: "publish", Tag: "orders/1", Payload: HexBytes("2"), Stored: true})
			f = n.takePub(1, []byte("2"))
			n.credit(1, uint32(len(f)))
			p.ok()
		}},
		{Case{"stored/waits", "Stored streams", "A NOTICE with count 0 is no failure: the storage waits, and CREDIT comes later."}, func(c *clientRun) {
			n := c.connectVersion(native.StoredVersion)
			p := c.tell(Instruction{Do: "publish", Tag: "orders/1", Payload: HexBytes("1"), Stored: true})
			n.grant("orders/1", 1, true)
			f := n.takePub(1, []byte("1"))
			n.write(native.AppendNotice(nil, native.NoticeFrame{Tag: 1, Code: native.CodeLimit, Reason: "disk full"}))
			n.barrier("a client that waits for CREDIT")
			if !p.open() {
				c.fail("the client waits for CREDIT", "%v", p.response("a response"))
			}
			n.credit(1, uint32(len(f)))
			p.ok()
		}},
		{Case{"stored/flush", "Stored streams", "Flush ends when all messages are stored."}, func(c *clientRun) {
			n := c.connectVersion(native.StoredVersion)
			p := c.tell(Instruction{Do: "publish", Tag: "orders/1", Payload: HexBytes("1"), Count: 3})
			n.grant("orders/1", 1, true)
			size := 0
			for range 3 {
				size += len(n.takePub(1, []byte("1")))
			}
			p.ok()
			flush := c.tell(Instruction{Do: "flush"})
			n.credit(1, uint32(size))
			flush.ok()
		}},
		{Case{"stored/again", "Stored streams", "What was not stored when the connection was lost is sent again on the next one, in order and before newer messages."}, func(c *clientRun) {
			n := c.reconnecting()
			n.needs(native.StoredVersion)
			p := c.tell(Instruction{Do: "publish", Tag: "orders/1", Payload: HexBytes("1")})
			n.grant("orders/1", 1, true)
			stored := n.takePub(1, []byte("1"))
			p.ok()
			for _, text := range []string{"2", "3"} {
				p = c.tell(Instruction{Do: "publish", Tag: "orders/1", Payload: HexBytes(text), MessageID: "id-" + text})
				n.takePub(1, []byte(text))
				p.ok()
			}
			n.credit(1, uint32(len(stored)))
			n.barrier("a client that has handled CREDIT")
			_ = n.conn.Close()
			second := c.next()
			second.greet()
			second.grant("orders/1", 9, true)
			size := 0
			for _, text := range []string{"2", "3"} {
				f := second.takePub(9, []byte(text))
				if id, _ := native.Entry(f.Extension(), native.TLVID); string(id) != "id-"+text {
					c.fail(fmt.Sprintf("the idempotency key id-%s, again", text), "%s", show(f))
				}
				size += len(f)
			}
			p = c.tell(Instruction{Do: "publish", Tag: "orders/1", Payload: HexBytes("4"), Stored: true})
			size += len(second.takePub(9, []byte("4")))
			second.credit(9, uint32(size))
			p.ok()
		}},
		{Case{"stored/again-credit", "Stored streams", "Messages that are sent again need the credit of the new connection."}, func(c *clientRun) {
			n := c.reconnecting()
			n.needs(native.StoredVersion)
			for i := range 3 {
				p := c.tell(Instruction{Do: "publish", Tag: "orders/1", Payload: HexBytes("x")})
				if i == 0 {
					n.grant("orders/1", 1, true)
				}
				n.takePub(1, []byte("x"))
				p.ok()
			}
			_ = n.conn.Close()
			second := c.next()
			second.greet(func(w *native.WelcomeFrame) { w.Window = 1 })
			second.grant("orders/1", 1, true)
			for range 3 {
				f := second.takePub(1, []byte("x"))
				second.barrier("a client without credit")
				second.credit(1, uint32(len(f)))
			}
		}},
		{Case{"stored/keys", "Extensions", "The key is entry 5 of the extension, and the idempotency key entry 9."}, func(c *clientRun) {
			n := c.connectVersion(native.StoredVersion)
			p := c.tell(Instruction{Do: "publish", Tag: "orders/1", Payload: HexBytes("1"), Key: "k1", MessageID: "o-17"})
			n.grant("orders/1", 1, true)
			f := n.takePub(1, []byte("1"))
			key, _ := native.Entry(f.Extension(), native.TLVKey)
			id, _ := native.Entry(f.Extension(), native.TLVID)
			if string(key) != "k1" || string(id) != "o-17" {
				c.fail("PUB with entry 5, k1, and entry 9, o-17", "%s", show(f))
			}
			p.ok()
		}},
	}
}
