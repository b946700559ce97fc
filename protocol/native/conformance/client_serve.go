package conformance

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"example.com/ferry/protocol/native"
)

// echo is the service that a driver serves.
const echo = "conformance.Echo"

// clientServe are the cases about calls that the client serves.
func clientServe() []clientCase {
	hi := []byte(`"hi"`)
	return []clientCase{
		{Case{"serve/refused", "Calls through a node", "If RESULT refuses the OFFER, serving fails with its code."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			p := c.tell(Instruction{Do: "serve", Service: echo})
			o := n.takeOffer()
			n.result(native.ResultFrame{Kind: native.Offer, Ref: o.ID, Code: native.CodeForbidden, Reason: "no"})
			p.refused(int(native.CodeForbidden))
			n.barrier("a connection")
		}},
		{Case{"serve/unary", "Calls", "The client responds to a CALL with a REPLY of its number."}, func(c *clientRun) {
			n := c.serving()
			for i := range uint32(3) {
				n.callEcho(2*i+2, "Say", native.FlagEnd, 0, hi)
				n.takeReply(2*i+2, 0, hi)
			}
		}},
		{Case{"serve/empty", "Calls", "A message in two pieces, of which one is empty, is one message."}, func(c *clientRun) {
			n := c.serving()
			n.callEcho(2, "Say", native.FlagEnd|native.FlagMore, 0, hi)
			n.write(native.AppendData(nil, native.DataFrame{Call: 2}))
			n.takeReply(2, 0, hi)
		}},
		{Case{"serve/error", "Calls", "An error of the handler is the code of REPLY, and its text entry 18."}, func(c *clientRun) {
			n := c.serving()
			n.callEcho(2, "Fail", native.FlagEnd, 0, hi)
			v := n.takeReply(2, 5, nil)
			if got, _ := native.Entry(v.Extension, native.TLVMessage); string(got) != "no k" {
				c.fail(`REPLY with entry 18, "no k"`, "extension %x", v.Extension)
			}
		}},
		{Case{"serve/unknown-method", "Calls", "A call of a method that the client does not have gets REPLY 12."}, func(c *clientRun) {
			n := c.serving()
			n.callEcho(2, "Nothing", native.FlagEnd, 0, hi)
			n.takeReply(2, 12, nil)
			n.barrier("a connection")
		}},
		{Case{"serve/stream", "Calls", "Each request of a stream gets its response before the next one comes, and REPLY follows flag 02."}, func(c *clientRun) {
			n := c.serving()
			n.callEcho(2, "Repeat", native.FlagNoMessage, 0, nil)
			got := &messages{call: 2}
			for i := range 5 {
				n.write(native.AppendData(nil, native.DataFrame{Call: 2, Message: fmt.Append(nil, i)}))
				for len(got.list) <= i {
					n.takeData(got)
				}
			}
			n.write(native.AppendData(nil, native.DataFrame{Flags: native.FlagNoMessage | native.FlagEnd, Call: 2}))
			n.takeReply(2, 0, nil)
			c.same(got, []byte("0"), []byte("1"), []byte("2"), []byte("3"), []byte("4"))
		}},
		{Case{"serve/cancel", "Calls", "CANCEL ends the handler; REPLY follows, with code 1."}, func(c *clientRun) {
			n := c.serving()
			n.callEcho(2, "Wait", native.FlagEnd, 0, hi)
			n.barrier("a connection")
			n.quiet("no REPLY before CANCEL", native.Reply)
			n.write(native.AppendCancel(nil, native.CancelFrame{Call: 2, Code: 1}))
			n.takeReply(2, 1, nil)
		}},
		{Case{"serve/timeout", "Calls", "When the timeout of CALL has passed, the handler ends; REPLY follows, with code 4."}, func(c *clientRun) {
			n := c.serving()
			n.callEcho(2, "Wait", native.FlagEnd, 100, hi)
			n.takeReply(2, 4, nil)
		}},
		{Case{"serve/concurrent", "Calls", "A call in progress does not delay another one."}, func(c *clientRun) {
			n := c.serving()
			n.callEcho(2, "Wait", native.FlagEnd, 0, hi)
			n.callEcho(4, "Say", native.FlagEnd, 0, hi)
			n.takeReply(4, 0, hi)
			n.write(native.AppendCancel(nil, native.CancelFrame{Call: 2, Code: 1}))
			n.takeReply(2, 1, nil)
		}},
		{Case{"serve/long", "Calls", "Long messages travel in pieces in both directions, within the credit of each end."}, func(c *clientRun) {
			n := c.serving()
			long := text(150_000)
			n.callEcho(2, "Say", native.FlagEnd|native.FlagMore, 0, long[:65536])
			n.write(native.AppendData(nil, native.DataFrame{Flags: native.FlagMore, Call: 2, Message: long[65536:131072]}), native.AppendData(nil, native.DataFrame{Call: 2, Message: long[131072:]}))
			n.takeReply(2, 0, long)
		}},
		{Case{"serve/compressed", "Calls", "A request that is compressed with gzip is understood, or the call ends with code 12."}, func(c *clientRun) {
			n := c.serving()
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			_, _ = w.Write(hi) // into memory
			_ = w.Close()
			n.method(1, echo+".Say")
			n.write(native.AppendCall(nil, native.CallFrame{Flags: native.FlagEnd | native.FlagCompressed, Compression: native.Gzip, Call: 2, Method: 1, Message: packed.Bytes()}))
			f := n.take("REPLY", native.Reply)
			v, err := native.ParseReply(f)
			message := v.Message
			if v.Flags&native.FlagCompressed != 0 {
				message = unzip(message)
			}
			if err != nil || v.Call != 2 || v.Code != 12 && (v.Code != 0 || !bytes.Equal(message, hi)) {
				c.fail(`REPLY with code 12, or with the response "hi"`, "%s", show(f))
			}
		}},
		{Case{"serve/credit", "Calls", "The client returns with CALLCREDIT what requests of a stream took that its handler has read."}, func(c *clientRun) {
			n := c.serving()
			window := int(n.hello.Limits.StreamWindow)
			message := text(min(max(window/4, 100), 10_000))
			n.callEcho(2, "Repeat", native.FlagNoMessage, 0, nil)
			got := &messages{call: 2}
			sent := 0
			for i := range 20 {
				c.await("CALLCREDIT", func() (bool, string) { return sent-n.rules.calls[2] < window, n.lost() }, n.seen)
				n.write(native.AppendData(nil, native.DataFrame{Call: 2, Message: message}))
				sent += len(message) + native.MessageOverhead
				before := got.took
				for len(got.list) <= i {
					n.takeData(got)
				}
				n.write(native.AppendCallCredit(nil, native.CallCreditFrame{Call: 2, Bytes: uint32(got.took - before)}))
			}
			n.write(native.AppendData(nil, native.DataFrame{Flags: native.FlagNoMessage | native.FlagEnd, Call: 2}))
			n.takeReply(2, 0, nil)
		}},
		{Case{"serve/response-window", "Calls", "Responses of a stream take its window, and wait for CALLCREDIT."}, func(c *clientRun) {
			n := c.serving(func(w *native.WelcomeFrame) { w.Limits.StreamWindow = 200 })
			message := text(36)
			n.callEcho(2, "Repeat", 0, 0, message)
			for range 4 {
				n.write(native.AppendData(nil, native.DataFrame{Call: 2, Message: message}))
			}
			n.write(native.AppendData(nil, native.DataFrame{Flags: native.FlagNoMessage | native.FlagEnd, Call: 2}))
			got := &messages{call: 2}
			for len(got.list) < 2 {
				n.takeData(got)
			}
			n.barrier("a client without credit")
			n.quiet("no further response", native.Data, native.Reply)
			n.write(native.AppendCallCredit(nil, native.CallCreditFrame{Call: 2, Bytes: 1000}))
			for len(got.list) < 5 {
				n.takeData(got)
			}
			n.takeReply(2, 0, nil)
		}},
		{Case{"serve/unknown-call", "Calls", "The client discards frames of calls that it does not serve."}, func(c *clientRun) {
			n := c.serving()
			n.write(native.AppendData(nil, native.DataFrame{Call: 40, Message: hi}), native.AppendCancel(nil, native.CancelFrame{Call: 42, Code: 1}), native.AppendCallCredit(nil, native.CallCreditFrame{Call: 44, Bytes: 1}))
			n.callEcho(2, "Say", native.FlagEnd, 0, hi)
			n.takeReply(2, 0, hi)
		}},
		{Case{"serve/number-in-use", "Calls", "A CALL whose number is in use ends the connection with protocol error."}, func(c *clientRun) {
			n := c.serving()
			n.callEcho(2, "Wait", native.FlagEnd, 0, hi)
			c.refuseOthers()
			n.callEcho(2, "Wait", native.FlagEnd, 0, hi)
			n.endsFor("a CALL whose number is in use")
		}},
		{Case{"serve/odd-number", "Calls", "A CALL of the node with an odd number ends the connection with protocol error."}, func(c *clientRun) {
			n := c.serving()
			c.refuseOthers()
			n.callEcho(3, "Say", native.FlagEnd, 0, hi)
			n.endsFor("a CALL with an odd number")
		}},
		{Case{"serve/unnamed-method", "Calls", "A CALL with a method number that METHOD has not named ends the connection with protocol error."}, func(c *clientRun) {
			n := c.serving()
			c.refuseOthers()
			n.write(native.AppendCall(nil, native.CallFrame{Flags: native.FlagEnd, Call: 2, Method: 77, Message: hi}))
			n.endsFor("a CALL of a method without a name")
		}},
		{Case{"serve/limit", "Calls", "A node with more calls in progress than HELLO allows gets GOAWAY no credit."}, func(c *clientRun) {
			n := c.serving()
			limit := n.hello.Limits.Calls
			if limit > 10_000 {
				c.skip("the client accepts %d calls", limit)
			}
			c.refuseOthers()
			for i := range limit + 1 {
				n.callEcho(2*i+2, "Wait", native.FlagEnd, 0, []byte("1"))
			}
			if g, ok := n.awaitEnd("the client closes the connection"); ok && g.Code != native.CodeCredit {
				c.fail("GOAWAY no credit", "GOAWAY %v %q", g.Code, g.Reason)
			}
			c.alive()
		}},
		{Case{"serve/withdraw", "Calls through a node", "The client withdraws its offer with flag 01, and completes the calls that it has."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			p := c.tell(Instruction{Do: "serve", Service: echo})
			o := n.takeOffer()
			n.result(native.ResultFrame{Kind: native.Offer, Ref: o.ID})
			p.ok()
			n.callEcho(2, "Wait", native.FlagEnd, 0, hi)
			n.barrier("a connection")
			p = c.tell(Instruction{Do: "withdraw", Service: echo})
			c.await(fmt.Sprintf("OFFER %d with flag 01", o.ID), func() (bool, string) { return n.rules.withdrawn[o.ID] > 0, n.lost() }, n.seen)
			n.write(native.AppendCancel(nil, native.CancelFrame{Call: 2, Code: 1}))
			n.takeReply(2, 1, nil)
			p.ok()
		}},
	}
}

// serving lets the client connect, and serve echo.
func (c *clientRun) serving(changes ...func(*native.WelcomeFrame)) *node {
	n := c.connectVersion(native.CallVersion, changes...)
	p := c.tell(Instruction{Do: "serve", Service: echo})
	o := n.takeOffer()
	if n.hello.Limits.Calls == 0 {
		c.fail("HELLO with limits of calls, from a client that serves", "limits %+v", n.hello.Limits)
	}
	n.result(native.ResultFrame{Kind: native.Offer, Ref: o.ID})
	p.ok()
	return n
}

// takeOffer waits for the OFFER of echo.
func (n *node) takeOffer() native.OfferFrame {
	want := "OFFER of " + echo
	f := n.take(want, native.Offer)
	o, err := native.ParseOffer(f)
	if err != nil || o.Service != echo || o.Withdraw {
		n.run.fail(want, "%s", show(f))
	}
	return o
}

// method gives a number to a method.
func (n *node) method(number uint16, name string) {
	n.write(native.AppendMethod(nil, native.MethodFrame{Number: number, Method: name, Content: contentJSON}))
}

// callEcho sends METHOD and CALL.
func (n *node) callEcho(call uint32, method string, flags byte, timeout uint32, message []byte) {
	number := uint16(len(method)) // another one for each of the methods
	n.method(number, echo+"."+method)
	n.write(native.AppendCall(nil, native.CallFrame{Flags: flags, Call: call, Method: number, Timeout: timeout, Message: message}))
}

// takeReply waits for the REPLY to a call. If message is not nil, it is the response, which may have pieces in DATA.
func (n *peer) takeReply(call, code uint32, message []byte) native.ReplyFrame {
	want := fmt.Sprintf("REPLY to call %d with code %d", call, code)
	got := &messages{call: call}
	for {
		f := n.take(want, native.Reply, native.Data)
		if f.Kind() == native.Data {
			d, err := native.ParseData(f)
			if err != nil || d.Call != call {
				n.run.fail(want, "%s", show(f))
			}
			got.add(d.Flags, d.Message)
			continue
		}
		v, err := native.ParseReply(f)
		if err != nil || v.Call != call || v.Code != code {
			n.run.fail(want, "%s", show(f))
		}
		got.add(v.Flags, v.Message)
		if message != nil {
			n.run.same(got, message)
		}
		return v
	}
}

// maxUnzipped bounds a decompressed response, in bytes.
const maxUnzipped = 1 << 20

func unzip(b []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	plain, _ := io.ReadAll(io.LimitReader(r, maxUnzipped)) // what is missing is the difference that the case reports
	return plain
}
