package conformance

import (
	"fmt"
	"math/rand/v2"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

// clientMalformed are the cases about bytes that no node sends. The client closes the connection, and survives.
func clientMalformed() []clientCase {
	one := func(name, section, what string, bad []byte) clientCase {
		idea := fmt.Sprintf("The client closes the connection after %s, and survives.", what)
		return clientCase{Case{"malformed/" + name, section, idea}, func(c *clientRun) { c.closesAfter(bad) }}
	}
	header := "Frame header, 8 bytes"
	pub := native.AppendPub(nil, native.PubHeader{Tag: 4711, Source: 3, Time: 1}, []byte("x"))
	list := []clientCase{
		one("short-length", header, "a length below 4", []byte{0, 0, 0, 3, byte(native.Ping), 0, 0, 0}),
		one("too-long", header, "the length of a frame that exceeds the maximum", []byte{0, 0x20, 0, 0, byte(native.Pub), 0, 0, 0}),
		one("longest", header, "a length of 4 GiB - 1", []byte{0xff, 0xff, 0xff, 0xff, byte(native.Pub), 0, 0, 0}),
		one("unknown-kind", "Kinds", "a kind that does not exist", frame(200, 1, 2, 3, 4)),
		one("kind-zero", "Kinds", "kind 0", frame(0)),
		one("client-kind", "Kinds", "a frame that only clients send", native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1})),
		one("second-welcome", "Kinds", "a second WELCOME", native.AppendWelcome(nil, native.WelcomeFrame{Version: 1, Source: 7, MaxFrame: 1 << 20, Window: 1, Heartbeat: 10_000})),
		one("short-ping", "Kinds", "a PING without all of its value", frame(native.Ping, 0, 0, 0)),
		one("short-result", "Kinds", "a RESULT that ends early", frame(native.Result, byte(native.Tag), 0, 0, 0, 0, 0)),
		one("short-credit", "Kinds", "a CREDIT that ends early", frame(native.Credit, 0, 0, 0, 0, 0)),
		one("text-length", "Kinds", "a TAG whose text is longer than the frame", frame(native.Tag, 0, 0, 0, 1, 0, 99, 'a')),
		one("text-utf8", "Kinds", "a TAG whose text is not UTF-8", frame(native.Tag, 0, 0, 0, 1, 0, 2, 0xff, 0xfe)),
		one("short-pub", "Kinds", "a PUB that is shorter than its fields", frame(native.Pub, 0, 0, 0, 1)),
	}
	withSub := func(name, section, what string, version uint8, in Instruction, bad func(s native.SubFrame) []byte) {
		idea := fmt.Sprintf("The client closes the connection after %s, and survives.", what)
		list = append(list, clientCase{Case{"malformed/" + name, section, idea}, func(c *clientRun) {
			n := c.connectVersion(version)
			s := c.subscribe(n, in)
			c.refuseOthers()
			n.write(native.AppendSelect(nil, s.ID), bad(s))
			n.endsFor(what)
		}})
	}
	plain := Instruction{Sub: 1, Filter: "#"}
	withSub("unknown-number", "A connection", "a PUB with a tag number that no TAG has announced", 1, plain, func(native.SubFrame) []byte { return pub })
	withSub("extension-length", "Extensions", "a PUB whose extension is longer than the frame", native.CallVersion, plain, func(native.SubFrame) []byte {
		f := native.AppendPub(nil, native.PubHeader{Source: 3, Time: 1}, []byte("x"))
		f[7] = 200
		return append(announce(0, "a"), f...)
	})
	durable := Instruction{Sub: 1, Filter: "orders/#", Durable: "billing", From: "first"}
	byName := func(extension []byte) []byte {
		return native.AppendExtendedPub(nil, native.PubHeader{Tag: native.ByName, Type: ferry.JSON, Time: 1}, extension, []byte("1"))
	}
	withSub("stored-entry", "Extensions", "a stored message with an entry that is longer than the extension", native.StoredVersion, durable, func(native.SubFrame) []byte {
		return byName([]byte{byte(native.TLVTagName), 0, 200, 'a'})
	})
	withSub("stored-without-tag", "Stored streams", "a stored message without its tag", native.StoredVersion, durable, func(native.SubFrame) []byte {
		return byName(native.AppendTLV(nil, native.TLVSequence, []byte{0, 0, 0, 0, 0, 0, 0, 1}))
	})
	withSub("stored-without-sequence", "Stored streams", "a stored message without its sequence number", native.StoredVersion, durable, func(native.SubFrame) []byte {
		return byName(native.AppendTLV(nil, native.TLVTagName, "orders/1"))
	})
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // the same bytes in each run
		junk := make([]byte, 256)
		for i := range junk {
			junk[i] = byte(random.Uint32())
		}
		junk[0] |= 0x80 // longer than the maximum
		list = append(list, one(fmt.Sprintf("random-%d", seed+1), header, "random bytes", junk))
	}
	return list
}

// closesAfter checks that the client closes a connection on which it receives bad, and goes on working.
func (c *clientRun) closesAfter(bad []byte) {
	n := c.connect()
	c.refuseOthers()
	n.write(bad)
	n.endsFor(fmt.Sprintf("%x", bad))
}

// endsFor waits until the client has closed the connection. If it says why, it says protocol error or too large.
func (n *node) endsFor(what string) {
	want := "the client closes the connection after " + what
	g, ok := n.awaitEnd(want)
	if ok && g.Code != native.CodeProtocol && g.Code != native.CodeTooLarge && g.Code != native.CodeBadRequest {
		n.run.fail(want+", with GOAWAY protocol error or too large", "GOAWAY %v %q", g.Code, g.Reason)
	}
	n.client.alive()
}
