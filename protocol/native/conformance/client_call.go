package conformance

import (
	"fmt"

	"example.com/ferry/protocol/native"
)

// clientCall are the cases about calls that the client makes.
func clientCall() []clientCase {
	const say, chat = "conformance.Echo.Say", "conformance.Echo.Repeat"
	hi := []byte(`"hi"`)
	begin := func(c *clientRun, in Instruction) {
		in.Do = "call"
		if in.Payloads == nil {
			in.Payloads = []HexBytes{hi}
		}
		c.tell(in).ok()
	}
	limits := func(l native.CallLimits) func(*native.WelcomeFrame) {
		return func(w *native.WelcomeFrame) { w.Limits = l }
	}
	// oneAfterTheOther begins two calls, of which the limits allow one at a time. The second CALL comes after the response to the first.
	oneAfterTheOther := func(c *clientRun, allowed native.CallLimits, state string) {
		n := c.connectVersion(native.CallVersion, limits(allowed))
		begin(c, Instruction{Call: 1, Method: say})
		q := n.takeCall(say)
		begin(c, Instruction{Call: 2, Method: say})
		n.barrier(state)
		n.quiet("no second CALL", native.Call)
		n.reply(q.Call, hi)
		c.response(1, hi)
		c.result(1, 0)
		q = n.takeCall(say)
		n.reply(q.Call, hi)
		c.response(2, hi)
		c.result(2, 0)
	}
	return []clientCase{
		{Case{"call/hello", "Calls through a node", "HELLO of a client that makes or serves calls has a stream window of 256 KiB or more."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			begin(c, Instruction{Call: 1, Method: say})
			n.takeCall(say)
			if window := n.hello.Limits.StreamWindow; window < leastStreamWindow {
				c.fail(fmt.Sprintf("HELLO with a stream window of %d bytes or more", leastStreamWindow), "%d", window)
			}
		}},
		{Case{"call/unary", "Calls", "METHOD names method and content type, CALL with flag 02 has the only request, and REPLY the response."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			begin(c, Instruction{Call: 1, Method: say})
			q := n.takeCall(say)
			if q.Flags&native.FlagEnd == 0 || q.Compression != 0 {
				c.fail("CALL with flag 02, end, not compressed", "%+v", q.CallFrame)
			}
			n.takeAll(&q.messages)
			c.same(&q.messages, hi)
			n.reply(q.Call, []byte(`"ho"`))
			c.response(1, []byte(`"ho"`))
			c.result(1, 0)
		}},
		{Case{"call/concurrent", "Calls", "Calls in progress have different odd numbers, and end in any order."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			begin(c, Instruction{Call: 1, Method: say})
			first := n.takeCall(say)
			begin(c, Instruction{Call: 2, Method: say})
			second := n.takeCall(say)
			if first.Call == second.Call {
				c.fail("two numbers", "%d twice", first.Call)
			}
			n.reply(second.Call, []byte("2"))
			c.response(2, []byte("2"))
			c.result(2, 0)
			n.reply(first.Call, []byte("1"))
			c.response(1, []byte("1"))
			c.result(1, 0)
		}},
		{Case{"call/error", "Calls", "REPLY carries a code of gRPC, and entry 18 of its extension the text."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			begin(c, Instruction{Call: 1, Method: say})
			q := n.takeCall(say)
			n.write(native.AppendReply(nil, native.ReplyFrame{Flags: native.FlagNoMessage, Call: q.Call, Code: 5, Extension: native.AppendTLV(nil, native.TLVMessage, "no k")}))
			if e := c.result(1, 5); e.Message != "no k" {
				c.fail(`the text "no k"`, "%v", e)
			}
		}},
		{Case{"call/metadata", "Extensions", "Metadata of a call are entries 16 of CALL, and trailers entries 17 of REPLY."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			begin(c, Instruction{Call: 1, Method: say, Metadata: map[string]string{"tenant": "t1"}})
			q := n.takeCall(say)
			found := false
			for t, value := range native.TLVs(q.Extension) {
				name, v, ok := native.NamedTLV(value)
				found = found || t == native.TLVMetadata && ok && string(name) == "tenant" && string(v) == "t1"
			}
			if !found {
				c.fail("CALL with entry 16, tenant: t1", "extension %x", q.Extension)
			}
			n.write(native.AppendReply(nil, native.ReplyFrame{Call: q.Call, Message: hi, Extension: native.AppendNamedTLV(native.AppendTLV(nil, 99, "later"), native.TLVTrailer, "cost", "7")}))
			c.response(1, hi)
			if e := c.result(1, 0); e.Trailer["cost"] != "7" {
				c.fail("the trailer cost: 7", "%v", e)
			}
		}},
		{Case{"call/timeout", "Calls", "CALL carries the time that is left, and the client ends the call with code 4 when it has passed."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			begin(c, Instruction{Call: 1, Method: say, Timeout: 1000})
			q := n.takeCall(say)
			if q.Timeout == 0 || q.Timeout > 1000 {
				c.fail("CALL with a timeout of 1 to 1000 ms", "%d ms", q.Timeout)
			}
			c.result(1, 4)
			n.barrier("a connection")
		}},
		{Case{"call/cancel", "Calls", "A call that the client gives up gets CANCEL with code 1, and its late REPLY is discarded or is its end."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			begin(c, Instruction{Call: 1, Method: say})
			q := n.takeCall(say)
			c.tell(Instruction{Do: "cancel", Call: 1}).ok()
			f := n.take("CANCEL", native.Cancel)
			if v, err := native.ParseCancel(f); err != nil || v.Call != q.Call || v.Code != 1 {
				c.fail(fmt.Sprintf("CANCEL of call %d with code 1", q.Call), "%s", show(f))
			}
			n.endCall(q.Call, 1)
			c.result(1, 1)
			n.barrier("a connection")
		}},
		{Case{"call/stream", "Calls", "Requests of a stream are in CALL and DATA until flag 02, responses in DATA until REPLY."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			begin(c, Instruction{Call: 1, Method: chat, Stream: true, Payloads: []HexBytes{HexBytes("1"), HexBytes("2"), HexBytes("3")}})
			q := n.takeCall(chat)
			n.takeAll(&q.messages)
			c.same(&q.messages, []byte("1"), []byte("2"), []byte("3"))
			n.write(native.AppendData(nil, native.DataFrame{Call: q.Call, Message: []byte("4")}), native.AppendData(nil, native.DataFrame{Call: q.Call, Message: []byte("5")}))
			c.response(1, []byte("4"))
			c.response(1, []byte("5"))
			n.endCall(q.Call, 0)
			c.result(1, 0)
		}},
		{Case{"call/last-response", "Calls", "REPLY may carry the last response of a stream, and a DATA without a message only the header."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			begin(c, Instruction{Call: 1, Method: chat, Stream: true})
			q := n.takeCall(chat)
			n.takeAll(&q.messages)
			n.write(native.AppendData(nil, native.DataFrame{Flags: native.FlagNoMessage, Call: q.Call, Extension: native.AppendNamedTLV(nil, native.TLVMetadata, "h", "1")}))
			n.reply(q.Call, []byte("9"))
			c.response(1, []byte("9"))
			c.result(1, 0)
		}},
		{Case{"call/cancel-stream", "Calls", "The client cancels a stream whose requests have not ended, after a response."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			begin(c, Instruction{Call: 1, Method: chat, Stream: true, Open: true})
			q := n.takeCall(chat)
			for len(q.list) == 0 {
				n.takeData(&q.messages)
			}
			if q.end {
				c.fail("a stream of requests that has not ended", "flag 02")
			}
			n.write(native.AppendData(nil, native.DataFrame{Call: q.Call, Message: []byte("4")}))
			c.response(1, []byte("4"))
			c.tell(Instruction{Do: "cancel", Call: 1}).ok()
			f := n.find("CANCEL", native.Cancel)
			if v, err := native.ParseCancel(f); err != nil || v.Call != q.Call || v.Code != 1 {
				c.fail(fmt.Sprintf("CANCEL of call %d with code 1", q.Call), "%s", show(f))
			}
			n.endCall(q.Call, 1)
			c.result(1, 1)
		}},
		{Case{"call/long-request", "Calls", "A request of more than 64 KiB travels in pieces, of which all but the last have flag 01."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			long := text(200_000)
			begin(c, Instruction{Call: 1, Method: say, Payloads: []HexBytes{long}})
			q := n.takeCall(say)
			n.takeAll(&q.messages)
			c.same(&q.messages, long)
			n.reply(q.Call, hi)
			c.response(1, hi)
			c.result(1, 0)
		}},
		{Case{"call/long-response", "Calls", "The client puts a response together from pieces in DATA and REPLY."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			begin(c, Instruction{Call: 1, Method: say})
			q := n.takeCall(say)
			long := text(150_000)
			n.write(native.AppendData(nil, native.DataFrame{Flags: native.FlagMore, Call: q.Call, Message: long[:65536]}))
			n.write(native.AppendData(nil, native.DataFrame{Flags: native.FlagMore, Call: q.Call, Message: long[65536:65537]}))
			n.write(native.AppendData(nil, native.DataFrame{Flags: native.FlagMore, Call: q.Call, Message: long[65537:131073]}))
			n.reply(q.Call, long[131073:])
			c.response(1, long)
			c.result(1, 0)
		}},
		{Case{"call/limit", "Calls", "The client has no more calls in progress than WELCOME allows."}, func(c *clientRun) {
			oneAfterTheOther(c, native.CallLimits{Calls: 1, Window: 1 << 20, StreamWindow: 1 << 16}, "a client at its limit")
		}},
		{Case{"call/window", "Calls", "Single requests share the window of WELCOME, which REPLY returns."}, func(c *clientRun) {
			oneAfterTheOther(c, native.CallLimits{Calls: 10, Window: 3, StreamWindow: 1 << 16}, "a client without credit")
		}},
		{Case{"call/call-credit", "Calls", "CALLCREDIT returns what a single request took before REPLY."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion, limits(native.CallLimits{Calls: 10, Window: 4, StreamWindow: 1 << 16}))
			begin(c, Instruction{Call: 1, Method: say})
			first := n.takeCall(say)
			begin(c, Instruction{Call: 2, Method: say})
			n.barrier("a client without credit")
			n.quiet("no second CALL", native.Call)
			n.write(native.AppendCallCredit(nil, native.CallCreditFrame{Call: first.Call, Bytes: 4}))
			second := n.takeCall(say)
			n.reply(first.Call, hi)
			c.response(1, hi)
			c.result(1, 0)
			n.reply(second.Call, hi)
			c.response(2, hi)
			c.result(2, 0)
		}},
		{Case{"call/stream-window", "Calls", "The messages of a stream take their length and 64 bytes of its window, and CALLCREDIT returns them."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion, limits(native.CallLimits{Calls: 10, Window: 1 << 20, StreamWindow: 200}))
			message := text(36)
			begin(c, Instruction{Call: 1, Method: chat, Stream: true, Payloads: []HexBytes{message}, Count: 5})
			q := n.takeCall(chat)
			for len(q.list) < 2 {
				n.takeData(&q.messages)
			}
			n.barrier("a client without credit")
			n.quiet("no further message", native.Data)
			n.write(native.AppendCallCredit(nil, native.CallCreditFrame{Call: q.Call, Bytes: 1}))
			for len(q.list) < 3 {
				n.takeData(&q.messages)
			}
			n.barrier("a client without credit")
			n.quiet("no further message", native.Data)
			n.write(native.AppendCallCredit(nil, native.CallCreditFrame{Call: q.Call, Bytes: 1000}))
			n.takeAll(&q.messages)
			c.same(&q.messages, message, message, message, message, message)
			n.endCall(q.Call, 0)
			c.result(1, 0)
		}},
		{Case{"call/response-credit", "Calls", "The client returns with CALLCREDIT what responses took that were read, so that streams may be long."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			window := int(n.hello.Limits.StreamWindow)
			if window == 0 {
				c.fail("HELLO with a stream window, for the responses to calls", "0")
			}
			begin(c, Instruction{Call: 1, Method: chat, Stream: true})
			q := n.takeCall(chat)
			n.takeAll(&q.messages)
			message := text(min(max(window/4, 100), native.MaxPiece))
			sent := 0
			for range 20 {
				c.await("CALLCREDIT", func() (bool, string) { return sent-n.rules.calls[q.Call] < window, n.lost() }, n.seen)
				n.write(native.AppendData(nil, native.DataFrame{Call: q.Call, Message: message}))
				sent += len(message) + native.MessageOverhead
				c.response(1, message)
			}
			n.endCall(q.Call, 0)
			c.result(1, 0)
		}},
		{Case{"call/unknown", "Calls", "The client discards frames of calls that it does not know."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			n.write(native.AppendData(nil, native.DataFrame{Call: 4711, Message: hi}), native.AppendCallCredit(nil, native.CallCreditFrame{Call: 4711, Bytes: 1}))
			n.reply(4711, hi)
			n.barrier("a connection")
			begin(c, Instruction{Call: 1, Method: say})
			q := n.takeCall(say)
			n.reply(q.Call, hi)
			n.reply(q.Call, []byte(`"twice"`))
			c.response(1, hi)
			c.result(1, 0)
			n.barrier("a connection")
		}},
		{Case{"call/unserved", "Calls", "Without limits in WELCOME the client sends no CALL: the call ends with code 12."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion, func(w *native.WelcomeFrame) { w.Limits = native.CallLimits{} })
			begin(c, Instruction{Call: 1, Method: say})
			c.result(1, 12)
			n.barrier("a connection")
		}},
		{Case{"call/lost", "Calls", "A lost connection ends its calls with code 14."}, func(c *clientRun) {
			n := c.connectVersion(native.CallVersion)
			begin(c, Instruction{Call: 1, Method: say})
			n.takeCall(say)
			c.refuseOthers()
			_ = n.conn.Close()
			c.result(1, 14)
			c.alive()
		}},
	}
}
