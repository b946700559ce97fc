package conformance

import (
	"fmt"
	"math/rand/v2"

	"example.com/ferry/protocol/native"
)

// nodeConnection are the cases about PING, GOAWAY and bytes that no client sends.
func nodeConnection() []nodeCase {
	list := []nodeCase{
		{Case{"ping/response", "A connection", "The response to a PING has its value and flag 01."}, func(r *nodeRun) {
			c := r.connect()
			for _, v := range []uint64{0, 1, 1 << 63, 1<<64 - 1} {
				c.write(native.AppendPing(nil, false, v))
				if f := c.take(fmt.Sprintf("the response to PING %d", v), native.Ping); pingValue(f) != v || f.Flags()&native.FlagAck == 0 {
					r.fail(fmt.Sprintf("the response to PING %d", v), "%s", show(f))
				}
			}
		}},
		{Case{"ping/routed", "A connection", "After the response to a PING all messages before it are routed: a later subscription gets none of them."}, func(r *nodeRun) {
			a, b := r.connect(), r.connect()
			n := a.publisher(r.tag("a"))
			for i := range 100 {
				a.publish(n, fmt.Sprint(i))
			}
			a.barrier("a connection")
			b.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			a.publish(n, `"new"`)
			b.message(1, `"new"`)
		}},
		{Case{"close/goaway", "A connection", "After GOAWAY ok of the client the node closes the connection, and what was published before is delivered."}, func(r *nodeRun) {
			a, b := r.connect(), r.connect()
			b.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			a.publish(a.publisher(r.tag("a")), "1")
			a.write(native.AppendGoaway(nil, native.GoawayFrame{}))
			a.awaitEnd("the node closes the connection")
			b.message(1, "1")
		}},
		{Case{"frames/segment", "Frame header, 8 bytes", "Many frames of different kinds in one segment are handled in order."}, func(r *nodeRun) {
			c := r.connect()
			c.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			n := c.publisher(r.tag("a"))
			var all []byte
			for i := range 100 {
				f := c.pub(n, fmt.Sprint(i))
				r.mu.Lock()
				c.rules.debt[n] += int64(len(f))
				r.mu.Unlock()
				all = native.AppendPing(append(all, f...), false, uint64(i))
			}
			c.write(all)
			for i := range 100 {
				if f := c.take("the response to a PING", native.Ping); pingValue(f) != uint64(i) {
					r.fail(fmt.Sprintf("the response to PING %d", i), "%s", show(f))
				}
				c.message(1, fmt.Sprint(i))
			}
		}},
		{Case{"frames/later-fields", "Frame header, 8 bytes", "The node ignores unknown flags, and bytes behind the fields that it knows."}, func(r *nodeRun) {
			c := r.connect()
			ping := withTail(native.AppendPing(nil, false, 5), 1, 2, 3)
			ping[5] |= 0xf0
			c.write(ping)
			c.take("the response to PING", native.Ping)
			tag := withTail(native.AppendTag(nil, native.TagFrame{Ref: 3, Name: r.tag("a")}), 9)
			tag[5], tag[6] = 0xf0, 0xff
			c.granted(c.request(tag, native.Tag, 3), "publish on "+r.tag("a"))
			c.write(withTail(native.AppendCredit(nil, native.CreditFrame{Sub: 1, Tag: 1, Bytes: 1}), 9))
			c.barrier("a connection")
		}},
	}
	malformed := func(name, what string, bad func(c *client) []byte, codes ...native.Code) {
		idea := fmt.Sprintf("The node ends the connection after %s, with GOAWAY, and other connections go on.", what)
		list = append(list, nodeCase{Case{"malformed/" + name, "Frame header, 8 bytes", idea}, func(r *nodeRun) {
			other, c := r.connect(), r.connect()
			c.write(bad(c))
			c.endsWith(what, codes...)
			other.barrier("another connection")
			r.connect().barrier("a new connection")
		}})
	}
	fixed := func(b ...byte) func(*client) []byte { return func(*client) []byte { return b } }
	malformed("short-length", "a length below 4", fixed(0, 0, 0, 3, byte(native.Ping), 0, 0, 0), native.CodeProtocol)
	malformed("too-long", "the length of a frame that exceeds the maximum", func(c *client) []byte {
		n := c.welcome.MaxFrame - 3
		return []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n), byte(native.Pub), 0, 0, 0}
	}, native.CodeTooLarge)
	malformed("longest", "a length of 4 GiB - 1", fixed(0xff, 0xff, 0xff, 0xff, byte(native.Pub), 0, 0, 0), native.CodeTooLarge)
	malformed("unknown-kind", "a kind that does not exist", fixed(frame(200, 1, 2, 3)...), native.CodeProtocol)
	malformed("node-kind", "a frame that only nodes send", fixed(native.AppendSelect(nil, 1)...), native.CodeProtocol)
	malformed("second-hello", "a second HELLO", fixed(native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 3})...), native.CodeProtocol)
	malformed("short-sub", "a SUB that ends early", fixed(frame(native.Sub, 0, 0, 0, 1, 0, 0, 0, 0)...), native.CodeProtocol)
	malformed("text-length", "a TAG whose text is longer than the frame", fixed(frame(native.Tag, 0, 0, 0, 1, 0, 99, 'a')...), native.CodeProtocol)
	malformed("text-utf8", "a TAG whose text is not UTF-8", fixed(frame(native.Tag, 0, 0, 0, 1, 0, 2, 0xff, 0xfe)...), native.CodeProtocol, native.CodeBadRequest)
	malformed("policy", "a SUB with an unknown policy", fixed(native.AppendSub(nil, native.SubFrame{ID: 1, Policy: 99, Filter: "a"})...), native.CodeProtocol, native.CodeBadRequest)
	malformed("extension-length", "a PUB whose extension is longer than the frame", fixed(0, 0, 0, 20, byte(native.Pub), 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), native.CodeProtocol)
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // the same bytes in each run
		junk := make([]byte, 256)
		for i := range junk {
			junk[i] = byte(random.Uint32())
		}
		junk[0] |= 0x80 // longer than the maximum
		malformed(fmt.Sprintf("random-%d", seed+1), "random bytes", fixed(junk...), native.CodeTooLarge)
	}
	return list
}
