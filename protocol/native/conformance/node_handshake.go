package conformance

import (
	"fmt"

	"example.com/ferry/protocol/native"
)

// nodeHandshake are the cases about HELLO and WELCOME.
func nodeHandshake() []nodeCase {
	refuses := func(name, section, what string, first func(*nodeRun) []byte, codes ...native.Code) nodeCase {
		idea := fmt.Sprintf("The node refuses %s with GOAWAY, and closes the connection.", what)
		return nodeCase{Case{name, section, idea}, func(r *nodeRun) {
			c := r.dial()
			c.write(first(r))
			c.endsWith(what, codes...)
		}}
	}
	return []nodeCase{
		{Case{"handshake/welcome", "A connection", "The node accepts HELLO with WELCOME: a version that both speak, a source id, the maximum frame and the heartbeat."}, func(r *nodeRun) {
			r.connect().barrier("a connection")
		}},
		{Case{"handshake/sources", "A connection", "Connections have different source ids."}, func(r *nodeRun) {
			if a, b := r.connect(), r.connect(); a.welcome.Source == b.welcome.Source {
				r.fail("different source ids", "%d twice", a.welcome.Source)
			}
		}},
		{Case{"handshake/lowest-version", "Versions", "A client that speaks version 1 only gets WELCOME of version 1."}, func(r *nodeRun) {
			h := r.hello()
			h.MaxVersion = 1
			r.greet(h).barrier("a connection")
		}},
		{Case{"handshake/later-versions", "Versions", "A client that speaks later versions, too, gets the highest one that both speak."}, func(r *nodeRun) {
			highest := r.connect().welcome.Version
			h := r.hello()
			h.MaxVersion = 200
			if c := r.greet(h); c.welcome.Version < highest {
				r.fail(fmt.Sprintf("WELCOME with version %d or more", highest), "version %d", c.welcome.Version)
			}
		}},
		refuses("handshake/no-version", "Versions", "a client of other versions", func(r *nodeRun) []byte {
			h := r.hello()
			h.MinVersion, h.MaxVersion = 200, 201
			return native.AppendHello(nil, h)
		}, native.CodeVersion),
		{Case{"handshake/token", "Credentials", "The node refuses an unknown token with GOAWAY unauthenticated."}, func(r *nodeRun) {
			h := r.hello()
			h.Token = []byte("no identity has this token")
			c := r.dial()
			c.write(native.AppendHello(nil, h))
			f := c.take("GOAWAY", native.Goaway, native.Welcome)
			if f.Kind() == native.Welcome {
				r.skip("the node accepts any token")
			}
			if g, err := native.ParseGoaway(f); err != nil || g.Code != native.CodeUnauthenticated {
				r.fail("GOAWAY unauthenticated", "%s", show(f))
			}
			c.awaitEnd("the end of the connection")
		}},
		refuses("handshake/other-frame", "A connection", "a first frame that is not HELLO", func(*nodeRun) []byte {
			return native.AppendPing(nil, false, 1)
		}, native.CodeProtocol),
		refuses("handshake/magic", "Kinds", "a HELLO with another magic", func(r *nodeRun) []byte {
			f := native.AppendHello(nil, r.hello())
			f[8] = 'X'
			return f
		}, native.CodeProtocol),
		refuses("handshake/short", "Kinds", "a HELLO that ends early", func(*nodeRun) []byte {
			return frame(native.Hello, 'F', 'R', 'R', 'Y', 1, 3, 0, 0, 0, 200)
		}, native.CodeProtocol),
		refuses("handshake/long", "Frame header, 8 bytes", "a HELLO of more than 8 KiB", func(*nodeRun) []byte {
			return []byte{0, 0, 0x20, 0x01, byte(native.Hello), 0, 0, 0}
		}, native.CodeProtocol, native.CodeTooLarge),
		{Case{"handshake/split", "Frame header, 8 bytes", "The node understands a HELLO that arrives byte by byte."}, func(r *nodeRun) {
			c := r.dial()
			c.writeSplit(native.AppendHello(nil, r.hello()))
			c.takeWelcome(r.hello())
		}},
		{Case{"handshake/later-fields", "Versions", "The node ignores fields of HELLO that later versions append."}, func(r *nodeRun) {
			c := r.dial()
			c.write(withTail(native.AppendHello(nil, r.hello()), 1, 2, 3, 4, 5))
			c.takeWelcome(r.hello())
			c.barrier("a connection")
		}},
	}
}
