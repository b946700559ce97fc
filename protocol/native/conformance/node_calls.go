package conformance

import (
	"bytes"
	"fmt"

	"example.com/ferry/protocol/native"
)

// nodeCalls are the cases about calls that cross a node. One of the kit's clients serves a service of the case, so that no call reaches that of
// an earlier one.
func nodeCalls() []nodeCase {
	hi := []byte(`"hi"`)
	return []nodeCase{
		{Case{"calls/unary", "Calls through a node", "A CALL reaches the client that has offered the service, under an even number, and its REPLY the caller."}, func(r *nodeRun) {
			server, caller := r.offering()
			caller.call(1, "Say", native.FlagEnd, hi)
			q := server.takeCall("Say")
			if q.Call%2 != 0 || q.Flags&native.FlagEnd == 0 || !bytes.Equal(q.Message, hi) {
				r.fail(`a CALL with an even number, flag 02 and the message "hi"`, "%+v", q)
			}
			server.write(native.AppendReply(nil, native.ReplyFrame{Call: q.Call, Message: []byte(`"ho"`)}))
			caller.takeReply(1, 0, []byte(`"ho"`))
		}},
		{Case{"calls/metadata", "Calls through a node", "Extensions cross the node in both directions."}, func(r *nodeRun) {
			server, caller := r.offering()
			caller.method("Say")
			metadata := native.AppendTLV(native.AppendNamedTLV(nil, native.TLVMetadata, "tenant", "t1"), 99, "later")
			caller.write(native.AppendCall(nil, native.CallFrame{Flags: native.FlagEnd, Call: 1, Method: 3, Extension: metadata, Message: hi}))
			q := server.takeCall("Say")
			if value, _ := native.Entry(q.Extension, native.TLVMetadata); string(value) != "\x06tenantt1" {
				r.fail("entry 16, tenant: t1", "extension %x", q.Extension)
			}
			server.write(native.AppendReply(nil, native.ReplyFrame{Flags: native.FlagNoMessage, Call: q.Call, Code: 5, Extension: native.AppendTLV(nil, native.TLVMessage, "no k")}))
			v := caller.takeReply(1, 5, nil)
			if value, _ := native.Entry(v.Extension, native.TLVMessage); string(value) != "no k" {
				r.fail(`entry 18, "no k"`, "extension %x", v.Extension)
			}
		}},
		{Case{"calls/stream", "Calls through a node", "The messages of a stream cross the node in order, in both directions."}, func(r *nodeRun) {
			server, caller := r.offering()
			caller.call(1, "Repeat", native.FlagNoMessage, nil)
			q := server.takeCall("Repeat")
			for i := range 20 {
				caller.write(native.AppendData(nil, native.DataFrame{Call: 1, Message: fmt.Append(nil, i)}))
				server.takeMessage(q.Call, fmt.Append(nil, i))
				server.write(native.AppendData(nil, native.DataFrame{Call: q.Call, Message: fmt.Append(nil, -i)}))
				caller.takeMessage(1, fmt.Append(nil, -i))
			}
			caller.write(native.AppendData(nil, native.DataFrame{Flags: native.FlagEnd | native.FlagNoMessage, Call: 1}))
			server.take("DATA with flag 02", native.Data)
			server.write(native.AppendReply(nil, native.ReplyFrame{Flags: native.FlagNoMessage, Call: q.Call}))
			caller.takeReply(1, 0, nil)
		}},
		{Case{"calls/credit", "Calls through a node", "CALLCREDIT crosses the node."}, func(r *nodeRun) {
			server, caller := r.offering()
			caller.call(1, "Repeat", native.FlagNoMessage, nil)
			q := server.takeCall("Repeat")
			server.write(native.AppendCallCredit(nil, native.CallCreditFrame{Call: q.Call, Bytes: 12345}))
			r.await("CALLCREDIT of 12345 bytes, or more", func() (bool, string) { return caller.rules.calls[1] >= 12345, "" }, caller.seen)
		}},
		{Case{"calls/cancel", "Calls through a node", "CANCEL reaches the called client, and its REPLY the caller."}, func(r *nodeRun) {
			server, caller := r.offering()
			caller.call(1, "Wait", native.FlagEnd, hi)
			q := server.takeCall("Wait")
			caller.write(native.AppendCancel(nil, native.CancelFrame{Call: 1, Code: 1}))
			f := server.take("CANCEL", native.Cancel)
			if v, err := native.ParseCancel(f); err != nil || v.Call != q.Call {
				r.fail(fmt.Sprintf("CANCEL of call %d", q.Call), "%s", show(f))
			}
			server.write(native.AppendReply(nil, native.ReplyFrame{Flags: native.FlagNoMessage, Call: q.Call, Code: 1}))
			caller.takeReply(1, 1, nil)
		}},
		{Case{"calls/unknown", "Calls through a node", "A call of a service that no client has offered ends with code 12, 14 or 7, not begun."}, func(r *nodeRun) {
			caller := r.connectVersion(native.CallVersion)
			caller.write(native.AppendMethod(nil, native.MethodFrame{Number: 9, Method: "conformance.Nothing.Say", Content: contentJSON}),
				native.AppendCall(nil, native.CallFrame{Flags: native.FlagEnd, Call: 1, Method: 9, Message: hi}))
			f := caller.take("REPLY", native.Reply)
			v, err := native.ParseReply(f)
			if err != nil || v.Call != 1 || v.Flags&native.FlagNotBegun == 0 || v.Code != 12 && v.Code != 14 && v.Code != 7 {
				r.fail("REPLY to call 1 with flag 10, not begun, and code 12, 14 or 7", "%s", show(f))
			}
		}},
		{Case{"calls/server-lost", "Calls through a node", "When the called client's connection ends, its calls end with code 14."}, func(r *nodeRun) {
			server, caller := r.offering()
			caller.call(1, "Wait", native.FlagEnd, hi)
			server.takeCall("Wait")
			_ = server.conn.Close()
			if v := caller.takeReply(1, 14, nil); v.Flags&native.FlagNotBegun != 0 {
				r.fail("REPLY without flag 10: the handler may have run", "flags %02x", v.Flags)
			}
		}},
		{Case{"calls/caller-lost", "Calls through a node", "When the caller's connection ends, its calls are cancelled."}, func(r *nodeRun) {
			server, caller := r.offering()
			caller.call(1, "Wait", native.FlagEnd, hi)
			q := server.takeCall("Wait")
			_ = caller.conn.Close()
			f := server.take("CANCEL", native.Cancel)
			if v, err := native.ParseCancel(f); err != nil || v.Call != q.Call {
				r.fail(fmt.Sprintf("CANCEL of call %d", q.Call), "%s", show(f))
			}
		}},
		{Case{"calls/withdraw", "Calls through a node", "After the RESULT of a withdrawal no further call comes, and those in progress are completed."}, func(r *nodeRun) {
			server, caller := r.offering()
			caller.call(1, "Wait", native.FlagEnd, hi)
			q := server.takeCall("Wait")
			if v := server.request(native.AppendOffer(nil, native.OfferFrame{ID: 1, Withdraw: true}), native.Offer, 1); v.Code != native.CodeOK || v.Value != native.Withdrawn {
				r.fail("RESULT ok with value 1", "%+v", v)
			}
			caller.call(3, "Say", native.FlagEnd, hi)
			f := caller.take("REPLY to call 3", native.Reply)
			if v, err := native.ParseReply(f); err != nil || v.Call != 3 || v.Code != 14 && v.Code != 12 || v.Flags&native.FlagNotBegun == 0 {
				r.fail("REPLY to call 3 with code 14 or 12, not begun", "%s", show(f))
			}
			server.write(native.AppendReply(nil, native.ReplyFrame{Call: q.Call, Message: hi}))
			caller.takeReply(1, 0, hi)
		}},
		{Case{"calls/late", "Calls", "The node discards frames of calls that have ended."}, func(r *nodeRun) {
			server, caller := r.offering()
			caller.call(1, "Say", native.FlagEnd, hi)
			q := server.takeCall("Say")
			reply := native.AppendReply(nil, native.ReplyFrame{Call: q.Call, Message: hi})
			server.write(reply, reply, native.AppendData(nil, native.DataFrame{Call: q.Call, Message: hi}))
			caller.takeReply(1, 0, hi)
			caller.write(native.AppendCancel(nil, native.CancelFrame{Call: 1, Code: 1}), native.AppendData(nil, native.DataFrame{Call: 1, Message: hi}))
			server.barrier("a connection")
			caller.barrier("a connection")
			caller.quiet("one REPLY", native.Reply, native.Data)
		}},
		{Case{"calls/even-number", "Calls", "A CALL of a client with an even number ends the connection."}, func(r *nodeRun) {
			_, caller := r.offering()
			caller.call(2, "Say", native.FlagEnd, hi)
			caller.endsWith("a CALL with an even number", native.CodeProtocol)
		}},
		{Case{"calls/number-in-use", "Calls", "A CALL whose number is in use ends the connection."}, func(r *nodeRun) {
			server, caller := r.offering()
			caller.call(1, "Wait", native.FlagEnd, hi)
			server.takeCall("Wait")
			caller.call(1, "Wait", native.FlagEnd, hi)
			caller.endsWith("a CALL whose number is in use", native.CodeProtocol)
		}},
		{Case{"calls/unnamed-method", "Calls", "A CALL of a method that METHOD has not named ends the connection."}, func(r *nodeRun) {
			caller := r.connectVersion(native.CallVersion)
			caller.write(native.AppendCall(nil, native.CallFrame{Flags: native.FlagEnd, Call: 1, Method: 77, Message: hi}))
			caller.endsWith("a CALL of a method without a name", native.CodeProtocol)
		}},
		{Case{"calls/version-1", "Kinds", "A frame of a call in version 1 ends the connection."}, func(r *nodeRun) {
			h := r.hello()
			h.MaxVersion = 1
			c := r.greet(h)
			c.service = echo
			c.call(1, "Say", native.FlagEnd, hi)
			c.endsWith("a frame of a call in version 1", native.CodeProtocol)
		}},
	}
}

// offering returns a client that serves a service, and one that calls it. It skips the case if the identity may not.
func (r *nodeRun) offering() (server, caller *client) {
	server, caller = r.connectVersion(native.CallVersion), r.connectVersion(native.CallVersion)
	service := "conformance." + r.name
	server.service, caller.service = service, service
	server.granted(server.request(native.AppendOffer(nil, native.OfferFrame{ID: 1, Service: service}), native.Offer, 1), "serve "+service)
	return server, caller
}

// method names a method of the service.
func (c *client) method(name string) {
	c.write(native.AppendMethod(nil, native.MethodFrame{Number: uint16(len(name)), Method: c.service + "." + name, Content: contentJSON}))
}

// call sends METHOD and CALL.
func (c *client) call(number uint32, method string, flags byte, message []byte) {
	c.method(method)
	c.write(native.AppendCall(nil, native.CallFrame{Flags: flags, Call: number, Method: uint16(len(method)), Message: message}))
}

// takeCall waits for a CALL of a method of the service.
func (c *client) takeCall(method string) native.CallFrame {
	want := "CALL of " + c.service + "." + method
	f := c.take(want, native.Call)
	q, err := native.ParseCall(f)
	c.run.mu.Lock()
	m := c.rules.methods[q.Method]
	c.run.mu.Unlock()
	if err != nil || m.Method != c.service+"."+method || m.Content != contentJSON {
		c.run.fail(want, "%s (%+v, %v)", show(f), m, err)
	}
	return q
}

// takeMessage waits for a DATA with a message.
func (c *client) takeMessage(call uint32, message []byte) {
	want := fmt.Sprintf("DATA of call %d with %q", call, message)
	f := c.take(want, native.Data)
	if d, err := native.ParseData(f); err != nil || d.Call != call || !bytes.Equal(d.Message, message) {
		c.run.fail(want, "%s", show(f))
	}
}
