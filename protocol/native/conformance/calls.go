package conformance

import (
	"bytes"
	"fmt"

	"example.com/ferry/protocol/native"
)

// contentJSON is the content type of all calls of the kit. Their messages are JSON text.
const contentJSON = "application/json"

// messages puts the messages of one direction of a call together.
type messages struct {
	call  uint32
	list  [][]byte
	piece []byte // of a message that is not complete
	part  bool   // there is such a message
	end   bool   // no message begins any more
	took  int    // what they take of a stream's window, in bytes
}

// add adds the message, or the piece, of a frame. A text says which rule it breaks.
func (m *messages) add(flags byte, message []byte) (broken string) {
	if m.end && !m.part && flags&native.FlagNoMessage == 0 {
		return "no message behind flag 02, end"
	}
	if flags&native.FlagEnd != 0 {
		m.end = true
	}
	if flags&native.FlagNoMessage != 0 {
		if m.part {
			return "the rest of a message in the next frame"
		}
		return ""
	}
	m.piece = append(m.piece, message...)
	m.part = flags&native.FlagMore != 0
	if !m.part {
		m.list = append(m.list, m.piece)
		m.took += len(m.piece) + native.MessageOverhead
		m.piece = nil
	}
	return ""
}

// text makes JSON text of a length in bytes, which is at least 2.
func text(size int) []byte {
	return fmt.Appendf(nil, `"%s"`, bytes.Repeat([]byte("x"), size-2))
}

// request is a CALL of the client with its requests.
type request struct {
	native.CallFrame
	messages
	method native.MethodFrame
}

// takeCall waits for a CALL of a method.
func (n *node) takeCall(method string) *request {
	want := "CALL of " + method
	f := n.take(want, native.Call)
	c, err := native.ParseCall(f)
	if err != nil {
		n.run.fail(want, "%s", show(f))
	}
	n.run.mu.Lock()
	q := &request{CallFrame: c, messages: messages{call: c.Call}, method: n.rules.methods[c.Method]}
	n.run.mu.Unlock()
	if q.method.Method != method || q.method.Content != contentJSON {
		n.run.fail(want+" with "+contentJSON, "%+v", q.method)
	}
	if broken := q.add(c.Flags, c.Message); broken != "" {
		n.run.fail(broken, "%s", show(f))
	}
	return q
}

// takeData waits for one DATA of a call.
func (n *node) takeData(m *messages) {
	want := fmt.Sprintf("DATA of call %d", m.call)
	f := n.take(want, native.Data)
	d, err := native.ParseData(f)
	if err != nil || d.Call != m.call {
		n.run.fail(want, "%s", show(f))
	}
	if broken := m.add(d.Flags, d.Message); broken != "" {
		n.run.fail(broken, "%s", show(f))
	}
}

// takeAll waits until the requests of a call have ended.
func (n *node) takeAll(m *messages) {
	for !m.end || m.part {
		n.takeData(m)
	}
}

// same fails the case unless the messages are the expected ones.
func (r *run) same(m *messages, want ...[]byte) {
	ok := len(m.list) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = bytes.Equal(m.list[i], want[i])
	}
	if !ok {
		r.fail("messages "+short(fmt.Sprintf("%q", want)), "%s", short(fmt.Sprintf("%q", m.list)))
	}
}

// reply ends a call with OK and a response.
func (n *node) reply(call uint32, message []byte) {
	n.write(native.AppendReply(nil, native.ReplyFrame{Call: call, Message: message}))
}

// endCall ends a call with a code and no response.
func (n *node) endCall(call, code uint32) {
	n.write(native.AppendReply(nil, native.ReplyFrame{Flags: native.FlagNoMessage, Call: call, Code: code}))
}

// response waits for the event of a response.
func (c *clientRun) response(call int, want []byte) {
	expected := fmt.Sprintf("the response %s to call %d", short(fmt.Sprintf("%q", want)), call)
	if e := c.event("response", expected); e.Call != call || !bytes.Equal(e.Payload, want) {
		c.fail(expected, "%v", e)
	}
}

// result waits for the event of the end of a call.
func (c *clientRun) result(call, code int) *Report {
	want := fmt.Sprintf("the end of call %d with code %d", call, code)
	e := c.event("result", want)
	got := 0
	if e.Code != nil {
		got = *e.Code
	}
	if e.Call != call || got != code {
		c.fail(want, "%v", e)
	}
	return e
}
