package conformance

import (
	"strings"

	"example.com/ferry/protocol/native"
)

// clientCredit are the cases about the credit of publishers. All PUBs have 40 bytes.
func clientCredit() []clientCase {
	const size = 40
	payload := []byte("0123456789abcdef")
	batch := func(c *clientRun, tag string, count int) *pending {
		return c.tell(Instruction{Do: "publish", Tag: tag, Payload: payload, Count: count})
	}
	window := func(bytes uint32) func(*native.WelcomeFrame) {
		return func(w *native.WelcomeFrame) { w.Window = bytes }
	}
	return []clientCase{
		{Case{"credit/window", "A connection", "The client sends the window of WELCOME, of which the last frame may exceed what is left, and then nothing before CREDIT."}, func(c *clientRun) {
			n := c.connect(window(2*size + 1))
			p := batch(c, "a", 5)
			n.grant("a", 1, false)
			for range 3 {
				n.takePub(1, payload)
			}
			n.barrier("a client without credit")
			n.quiet("no PUB without credit", native.Pub)
			n.credit(1, 10*size)
			n.takePub(1, payload)
			n.takePub(1, payload)
			p.ok()
		}},
		{Case{"credit/debt", "A connection", "What the last frame took beyond the window counts: CREDIT that only makes up for it allows no frame, and one byte more allows one."}, func(c *clientRun) {
			n := c.connect(window(1))
			p := batch(c, "a", 2)
			n.grant("a", 1, false)
			n.takePub(1, payload)
			n.credit(1, size-1)
			n.barrier("a client without credit")
			n.quiet("no PUB without credit", native.Pub)
			n.credit(1, 1)
			n.takePub(1, payload)
			p.ok()
		}},
		{Case{"credit/zero", "A connection", "With a window of 0 the client publishes nothing before the first CREDIT."}, func(c *clientRun) {
			n := c.connect(window(0))
			p := batch(c, "a", 1)
			n.grant("a", 1, false)
			n.barrier("a client without credit")
			n.quiet("no PUB without credit", native.Pub)
			n.credit(1, 1)
			n.takePub(1, payload)
			p.ok()
		}},
		{Case{"credit/tags", "A connection", "A tag without credit does not delay another one."}, func(c *clientRun) {
			n := c.connect(window(size))
			p := batch(c, "a", 1)
			n.grant("a", 1, false)
			n.takePub(1, payload)
			p.ok()
			p = batch(c, "b", 1)
			n.grant("b", 2, false)
			n.takePub(2, payload)
			p.ok()
		}},
		{Case{"credit/other-tag", "Kinds", "CREDIT counts for its tag number only."}, func(c *clientRun) {
			n := c.connect(window(size))
			for i, tag := range []string{"a", "b"} {
				p := batch(c, tag, 1)
				n.grant(tag, uint32(i), false)
				n.takePub(uint32(i), payload)
				p.ok()
			}
			p := batch(c, "a", 1)
			n.credit(1, 10*size)
			n.barrier("a client without credit")
			n.quiet("no PUB on a tag without credit", native.Pub)
			n.credit(0, 1)
			n.takePub(0, payload)
			p.ok()
		}},
		{Case{"credit/steady", "A connection", "With a small window, a thousand messages arrive complete and in order as CREDIT returns their bytes."}, func(c *clientRun) {
			const count = 1000
			n := c.connect(window(10 * size))
			p := c.tell(Instruction{Do: "publish", Tag: "a", Payload: payload, Count: count})
			n.grant("a", 1, false)
			for range count {
				f := n.takePub(1, payload)
				n.credit(1, uint32(len(f)))
			}
			p.ok()
		}},
		{Case{"credit/large", "A connection", "CREDIT of 4 GiB - 1 is a number as any other."}, func(c *clientRun) {
			n := c.connect(window(size))
			p := batch(c, "a", 3)
			n.grant("a", 1, false)
			n.takePub(1, payload)
			n.credit(1, 1<<32-1)
			n.takePub(1, payload)
			n.takePub(1, payload)
			p.ok()
		}},
		{Case{"credit/long-message", "A connection", "A message that is longer than the window is sent while some of the window is left."}, func(c *clientRun) {
			n := c.connect(window(1))
			p := c.tell(Instruction{Do: "publish", Tag: "a", Payload: HexBytes("x"), Repeat: 100_000})
			n.grant("a", 1, false)
			n.takePub(1, []byte(strings.Repeat("x", 100_000)))
			p.ok()
		}},
	}
}
