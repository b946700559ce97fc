package conformance

import (
	"bytes"
	"fmt"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

// nodePublish are the cases about TAG and PUB.
func nodePublish() []nodeCase {
	return []nodeCase{
		{Case{"publish/message", "A connection", "A subscriber gets TAG, SELECT and PUB: the publisher's source id, the time, the type and the payload are unchanged."}, func(r *nodeRun) {
			a, b := r.connect(), r.connect()
			b.subscribe(native.SubFrame{ID: 1, Filter: r.tag("#")})
			n := a.publisher(r.tag("a"))
			a.publish(n, `{"v":31}`)
			m := b.message(1, `{"v":31}`)
			f := m.frame
			if m.tag != r.tag("a") || f.Type() != ferry.JSON || f.Time() != sampleTime || uint32(f.Source()) != a.welcome.Source || f.Flags()&^native.FlagValid != 0 {
				r.fail(fmt.Sprintf("a PUB of source %d on %s, type 4, with the time of the publisher", a.welcome.Source, r.tag("a")), "on %q: %s", m.tag, show(f))
			}
		}},
		{Case{"publish/numbers", "A connection", "A tag has the same number on all connections."}, func(r *nodeRun) {
			a, b := r.connect(), r.connect()
			b.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			n := a.publisher(r.tag("a"))
			if v := b.publisher(r.tag("a")); v != n {
				r.fail(fmt.Sprintf("number %d", n), "number %d on another connection", v)
			}
			a.publish(n, "1")
			if m := b.message(1, "1"); m.frame.Tag() != n {
				r.fail(fmt.Sprintf("number %d", n), "%s", show(m.frame))
			}
		}},
		{Case{"publish/order", "A connection", "The messages of one source on one tag arrive complete and in order."}, func(r *nodeRun) {
			a, b := r.connect(), r.connect()
			b.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			n := a.publisher(r.tag("a"))
			for i := range 500 {
				a.publish(n, fmt.Sprint(i))
			}
			for i := range 500 {
				b.message(1, fmt.Sprint(i))
			}
		}},
		{Case{"publish/own", "A connection", "A client that subscribes to what it publishes gets its own messages."}, func(r *nodeRun) {
			c := r.connect()
			c.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			c.publish(c.publisher(r.tag("a")), "1")
			c.message(1, "1")
		}},
		{Case{"publish/bad-tag", "Tags and filters", "RESULT refuses a tag with a wildcard, an empty tag, and one with a control character: bad request."}, func(r *nodeRun) {
			c := r.connect()
			for _, tag := range []string{r.tag("+"), r.tag("#"), r.tag("a+"), "", r.tag("\x00"), r.tag("\x7f")} {
				if v := c.requestTag(tag); v.Code != native.CodeBadRequest {
					r.fail(fmt.Sprintf("RESULT bad request for tag %q", tag), "%v: %s", v.Code, v.Reason)
				}
			}
			c.barrier("a connection")
		}},
		{Case{"publish/long-tag", "Tags and filters", "A tag has at most 1024 bytes."}, func(r *nodeRun) {
			c := r.connect()
			base := r.tag("")
			longest := base + string(bytes.Repeat([]byte("x"), 1024-len(base)))
			c.publisher(longest)
			if v := c.requestTag(longest + "x"); v.Code != native.CodeBadRequest {
				r.fail("RESULT bad request for a tag of 1025 bytes", "%v: %s", v.Code, v.Reason)
			}
		}},
		{Case{"publish/forbidden", "Tags and filters", "RESULT refuses a tag that the identity may not publish on: forbidden. The connection goes on."}, func(r *nodeRun) {
			if r.cfg.Forbidden == "" {
				r.skip("no forbidden tag was given")
			}
			c := r.connect()
			if v := c.requestTag(r.cfg.Forbidden); v.Code != native.CodeForbidden {
				r.fail("RESULT forbidden", "%v: %s", v.Code, v.Reason)
			}
			c.barrier("a connection")
		}},
		{Case{"publish/invalid", "A connection", "A payload that is not valid for its type is dropped: NOTICE invalid payload comes before the response to PING."}, func(r *nodeRun) {
			a, b := r.connect(), r.connect()
			b.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			n := a.publisher(r.tag("a"))
			a.publish(n, `{"v":`)
			a.write(native.AppendPing(nil, false, barrierPing))
			f := a.take("NOTICE, and then the response to PING", native.Notice, native.Ping)
			if f.Kind() == native.Ping {
				b.message(1, `{"v":`)
				r.skip("the listener does not validate payloads")
			}
			v, err := native.ParseNotice(f)
			if err != nil || v.Tag != n || v.Count != 1 || v.Code != native.CodeInvalid {
				r.fail(fmt.Sprintf("NOTICE: 1 message on tag number %d, invalid payload", n), "%s", show(f))
			}
			a.take("the response to PING", native.Ping)
			a.publish(n, "1")
			b.message(1, "1")
		}},
		{Case{"publish/no-payload", "Kinds", "A message of type raw may have no payload."}, func(r *nodeRun) {
			c := r.connect()
			c.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			n := c.publisher(r.tag("a"))
			c.send(n, native.AppendPub(nil, native.PubHeader{Tag: n, Source: c.source(), Time: 1}, nil))
			c.message(1, "")
		}},
		{Case{"publish/largest", "Frame header, 8 bytes", "A PUB of the maximum length of WELCOME is delivered."}, func(r *nodeRun) {
			c := r.connect()
			c.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			n := c.publisher(r.tag("a"))
			payload := bytes.Repeat([]byte("x"), int(c.welcome.MaxFrame)-native.PubHeaderSize)
			c.send(n, native.AppendPub(nil, native.PubHeader{Tag: n, Source: c.source(), Time: 1}, payload))
			c.message(1, string(payload))
		}},
		{Case{"publish/split", "Frame header, 8 bytes", "A PUB that arrives byte by byte is the one that was sent."}, func(r *nodeRun) {
			c := r.connect()
			c.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			n := c.publisher(r.tag("a"))
			f := c.pub(n, `{"v":1}`)
			r.mu.Lock()
			c.rules.debt[n] += 2 * int64(len(f))
			r.mu.Unlock()
			c.writeSplit(f, f)
			c.message(1, `{"v":1}`)
			c.message(1, `{"v":1}`)
		}},
		{Case{"publish/source", "A connection", "A PUB with another client's source id ends the connection."}, func(r *nodeRun) {
			c := r.connect()
			n := c.publisher(r.tag("a"))
			c.write(native.AppendPub(nil, native.PubHeader{Tag: n, Source: c.source() + 1, Time: 1}, []byte("x")))
			c.endsWith("a PUB with another source id", native.CodeProtocol, native.CodeForbidden)
		}},
		{Case{"publish/not-granted", "A connection", "A PUB with a tag number that was not granted ends the connection."}, func(r *nodeRun) {
			c := r.connect()
			c.write(c.pub(0x00ffffff, "1"))
			c.endsWith("a PUB without a grant", native.CodeProtocol, native.CodeForbidden)
		}},
		{Case{"publish/addressed", "A connection", "A PUB with flag 01 goes only to the client with that source id, and only to its subscription with flag 01."}, func(r *nodeRun) {
			a, b, other := r.connect(), r.connect(), r.connect()
			b.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			b.subscribe(native.SubFrame{ID: 2, Filter: r.tag("a"), Addressed: true})
			other.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			other.subscribe(native.SubFrame{ID: 2, Filter: r.tag("a"), Addressed: true})
			n := a.publisher(r.tag("a"))
			a.send(n, native.AppendPub(nil, native.PubHeader{Flags: native.FlagAddressed, Type: ferry.JSON, Tag: n, Source: b.source(), Time: 1}, []byte("1")))
			b.message(2, "1")
			a.publish(n, "2")
			b.message(1, "2")
			other.message(1, "2")
			other.none("no message that is addressed to another client")
			b.none("each message once")
		}},
		{Case{"publish/extension", "Extensions", "The node forwards the extension of a PUB, without the entries that only nodes write."}, func(r *nodeRun) {
			c := r.connectVersion(native.CallVersion)
			c.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			n := c.publisher(r.tag("a"))
			extension := native.AppendTLV(native.AppendTLV(nil, 200, "private"), native.TLVSequence, "12345678")
			extension = native.AppendTLV(extension, 99, "later")
			c.send(n, native.AppendExtendedPub(nil, native.PubHeader{Type: ferry.JSON, Tag: n, Source: c.source(), Time: 1}, extension, []byte("1")))
			f := c.message(1, "1").frame
			private, _ := native.Entry(f.Extension(), 200)
			later, _ := native.Entry(f.Extension(), 99)
			if _, forged := native.Entry(f.Extension(), native.TLVSequence); forged || string(private) != "private" || string(later) != "later" {
				r.fail("entries 200 and 99, and no entry 3", "%s", show(f))
			}
		}},
		{Case{"publish/functions", "Extensions", "The node adds 1 to the entry that counts functions, and drops a PUB whose entry is 16, with a NOTICE."}, func(r *nodeRun) {
			c := r.connectVersion(native.CallVersion)
			c.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			n := c.publisher(r.tag("a"))
			through := func(functions byte, text string) {
				extension := native.AppendTLV(nil, native.TLVFunctions, []byte{functions})
				c.send(n, native.AppendExtendedPub(nil, native.PubHeader{Type: ferry.JSON, Tag: n, Source: c.source(), Time: 1}, extension, []byte(text)))
			}
			for _, given := range []byte{0, native.MaxFunctions - 1} {
				through(given, "1")
				if f := c.message(1, "1").frame; f.Functions() != given+1 {
					r.fail(fmt.Sprintf("entry 12 with %d", given+1), "%s", show(f))
				}
			}
			through(native.MaxFunctions, "2")
			c.write(native.AppendPing(nil, false, barrierPing))
			f := c.take("NOTICE, and then the response to PING", native.Notice, native.Ping, native.Pub)
			if v, err := native.ParseNotice(f); err != nil || v.Tag != n || v.Count != 1 || v.Code != native.CodeBadRequest {
				r.fail(fmt.Sprintf("NOTICE: 1 message on tag number %d, bad request", n), "%s", show(f))
			}
			c.take("the response to PING", native.Ping)
			c.publish(n, "3")
			c.message(1, "3")
		}},
		{Case{"publish/untag", "Forwarded messages", "UNTAG gives back a grant: a later PUB with the number ends the connection."}, func(r *nodeRun) {
			c := r.connectVersion(native.ForwardVersion)
			n := c.publisher(r.tag("a"))
			c.publish(n, "1")
			c.write(native.AppendUntag(nil, n))
			c.barrier("a connection")
			c.write(c.pub(n, "2"))
			c.endsWith("a PUB behind UNTAG", native.CodeProtocol, native.CodeForbidden)
		}},
	}
}
