package conformance

import (
	"fmt"

	"example.com/ferry/protocol/native"
)

// clientHandshake are the cases about HELLO and WELCOME.
func clientHandshake() []clientCase {
	return []clientCase{
		{Case{"handshake/hello", "A connection", "The client's first frame is HELLO with the token and the name that it was given, and it sends nothing else before WELCOME."}, func(c *clientRun) {
			n, p := c.begin(Instruction{Token: "t0k", Name: "pump"})
			n.readHello()
			if string(n.hello.Token) != "t0k" || n.hello.Name != "pump" {
				c.fail(`HELLO with token "t0k" and name "pump"`, "token %q, name %q", n.hello.Token, n.hello.Name)
			}
			if !p.open() {
				c.fail("the client waits for WELCOME", "it said that it is connected")
			}
			n.welcome()
			p.ok()
			n.barrier("a connection")
		}},
		{Case{"handshake/no-token", "Credentials", "Without a token, that of HELLO is empty."}, func(c *clientRun) {
			n, p := c.begin(Instruction{})
			n.readHello()
			if len(n.hello.Token) > 0 {
				c.fail("HELLO with an empty token", "token %q", n.hello.Token)
			}
			n.welcome()
			p.ok()
		}},
		{Case{"handshake/lowest-version", "Versions", "The client works with the lowest version that it has offered."}, func(c *clientRun) {
			n, p := c.begin(Instruction{})
			n.readHello()
			n.version = n.hello.MinVersion
			n.welcome()
			p.ok()
			pub := c.publish("a", `{"v":1}`)
			n.grant("a", 1, false)
			n.takePub(1, []byte(`{"v":1}`))
			pub.ok()
		}},
		{Case{"handshake/version-above", "Versions", "The client closes the connection if WELCOME carries a version above those that it has offered."}, func(c *clientRun) {
			c.refusesWelcome(func(n *node) []byte {
				return native.AppendWelcome(nil, native.WelcomeFrame{Version: n.hello.MaxVersion + 1, Source: 7, MaxFrame: 1 << 20, Window: 1 << 20, Heartbeat: 10_000})
			})
		}},
		{Case{"handshake/version-zero", "Versions", "The client closes the connection if WELCOME carries a version below those that it has offered."}, func(c *clientRun) {
			c.refusesWelcome(func(*node) []byte {
				return native.AppendWelcome(nil, native.WelcomeFrame{Version: 0, Source: 7, MaxFrame: 1 << 20, Window: 1 << 20, Heartbeat: 10_000})
			})
		}},
		refusal("handshake/version-mismatch", "Versions", native.CodeVersion),
		refusal("handshake/refused-token", "Credentials", native.CodeUnauthenticated),
		{Case{"handshake/closed", "A connection", "If the node closes the connection instead of sending WELCOME, connecting fails."}, func(c *clientRun) {
			n, p := c.begin(Instruction{})
			n.readHello()
			c.refuseOthers()
			_ = n.conn.Close()
			p.failed()
			c.alive()
		}},
		{Case{"handshake/not-a-node", "Frame header, 8 bytes", "If the server speaks another protocol, connecting fails and the client closes the connection."}, func(c *clientRun) {
			c.refusesWelcome(func(*node) []byte { return []byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n") })
		}},
		{Case{"handshake/other-frame", "A connection", "If the first frame of the node is neither WELCOME nor GOAWAY, connecting fails."}, func(c *clientRun) {
			c.refusesWelcome(func(*node) []byte { return native.AppendSelect(nil, 1) })
		}},
		{Case{"handshake/short-welcome", "Kinds", "If WELCOME ends before its last field, connecting fails."}, func(c *clientRun) {
			c.refusesWelcome(func(n *node) []byte { return frame(native.Welcome, n.hello.MaxVersion, 0, 0, 0, 0, 0, 0, 7) })
		}},
		{Case{"handshake/long-welcome", "Frame header, 8 bytes", "If WELCOME is longer than 8 KiB, connecting fails as soon as its length has arrived."}, func(c *clientRun) {
			c.refusesWelcome(func(*node) []byte { return []byte{0, 0, 0x20, 0x01, byte(native.Welcome), 0, 0, 0} })
		}},
		{Case{"handshake/split", "Frame header, 8 bytes", "The client understands a WELCOME that arrives byte by byte."}, func(c *clientRun) {
			n, p := c.begin(Instruction{})
			n.readHello()
			w := native.WelcomeFrame{Version: n.version, Source: n.source, MaxFrame: 1 << 20, Window: 1 << 20, Heartbeat: 10_000}
			n.accept(w)
			n.writeSplit(native.AppendWelcome(nil, w))
			p.ok()
			n.barrier("a connection")
		}},
		{Case{"handshake/without-limits", "Calls", "The client connects to a node whose WELCOME has no limits of calls."}, func(c *clientRun) {
			n := c.connect(func(w *native.WelcomeFrame) { w.Limits, w.Node = native.CallLimits{}, "" })
			n.barrier("a connection")
		}},
		{Case{"handshake/later-fields", "Frame header, 8 bytes", "The client ignores bytes of WELCOME behind the fields that it knows, and reserved bytes and flags that are set."}, func(c *clientRun) {
			n, p := c.begin(Instruction{})
			n.readHello()
			w := native.WelcomeFrame{Version: n.version, Source: n.source, MaxFrame: 1 << 20, Window: 1 << 20, Heartbeat: 10_000, Limits: native.CallLimits{Calls: 1, Window: 1 << 16, StreamWindow: 1 << 16}, Node: "kit"}
			f := withTail(native.AppendWelcome(nil, w), 0xde, 0xad, 0xbe, 0xef)
			f[5], f[10], f[11] = 0xf0, 0xff, 0xff
			n.accept(w)
			n.write(f)
			p.ok()
			n.barrier("a connection")
		}},
	}
}

// refusesWelcome checks that connecting fails with what the node sends in place of a good WELCOME, that the client closes the connection,
// and that it can connect again afterwards.
func (c *clientRun) refusesWelcome(first func(*node) []byte) {
	n, p := c.begin(Instruction{})
	n.readHello()
	n.maxFrame = native.DefaultMaxFrame
	c.refuseOthers()
	n.write(first(n))
	p.failed()
	n.awaitEnd("the client closes the connection")
	c.alive()
}

// refusal is a case about a GOAWAY in place of WELCOME.
func refusal(name, section string, code native.Code) clientCase {
	idea := fmt.Sprintf("If the node sends GOAWAY %q instead of WELCOME, connecting fails with that code, and the client closes the connection.", code)
	return clientCase{Case{name, section, idea}, func(c *clientRun) {
		n, p := c.begin(Instruction{Token: "wrong"})
		n.readHello()
		c.refuseOthers()
		n.write(native.AppendGoaway(nil, native.GoawayFrame{Code: code, Reason: "no"}))
		p.refused(int(code))
		n.awaitEnd("the client closes the connection")
		c.alive()
	}}
}
