package echo

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"example.com/ferry/internal/load/echo/benchpb"
)

// Message is the message of all calls.
type Message = benchpb.BenchmarkMessage

// Size is the size of the message in bytes, as protobuf.
const Size = 581

// Least is how many bytes a message takes at least, in any codec: those of the seven strings of a response that are the text below.
const Least = 7 * 54

// What the handler sets, and the client verifies.
const (
	okText   = "OK"
	okNumber = 100
)

// text is the value of every string of the request, 54 bytes in UTF-8.
const text = "许多往事在眼前一幕一幕，变的那麼模糊"

const number = 100_000 // the value of every integer of the request

// NewMessage returns a request: 39 of its 40 fields have a value, as in rpcx's benchmark.
func NewMessage() *Message {
	s, b := proto.String(text), proto.Bool(true)
	i := proto.Int32(number)
	return &Message{
		Field1: s, Field2: i, Field3: i, Field4: s, Field6: i, Field7: s, Field9: s, Field12: b, Field13: b, Field14: b, Field16: i, Field17: b,
		Field18: s, Field22: proto.Int64(number), Field23: i, Field24: b, Field25: i, Field29: i, Field30: b, Field59: b, Field60: i, Field67: i,
		Field68: i, Field78: b, Field80: b, Field81: b, Field100: i, Field101: i, Field102: s, Field103: s, Field104: i, Field128: i,
		Field129: s, Field130: i, Field131: i, Field150: i, Field271: i, Field272: i, Field280: i,
	}
}

// Respond is what every server's handler does: the response is the request with two fields changed.
func Respond(m *Message) *Message {
	m.Field1, m.Field2 = proto.String(okText), proto.Int32(okNumber)
	return m
}

// Verify returns an error if m is not the response to NewMessage. It looks at what the handler has set, and at the first and the last
// field that it has not.
func Verify(m *Message) error {
	if m.GetField1() != okText || m.GetField2() != okNumber || m.GetField4() != text || m.GetField280() != number {
		return fmt.Errorf("echo: wrong response: %v", m)
	}
	return nil
}

// CheckMessage returns an error if the message does not have the size of the recorded figures.
func CheckMessage() error {
	if n := proto.Size(NewMessage()); n != Size {
		return fmt.Errorf("echo: the message takes %d bytes, want %d", n, Size)
	}
	return nil
}
