package conformance

import (
	"encoding/binary"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

// sampleTime is the time of the messages of the kit, in Unix nanoseconds. It needs more than 53 bits.
const sampleTime = 1602168089665565200

// deliver sends frames for a subscription behind a SELECT, and counts the bytes of their PUBs for the rules of CREDIT.
func (n *node) deliver(sub uint32, frames ...[]byte) {
	n.count(sub, frames...)
	n.write(append([][]byte{native.AppendSelect(nil, sub)}, frames...)...)
}

// count notes that PUBs are sent for a subscription.
func (n *node) count(sub uint32, frames ...[]byte) {
	n.run.mu.Lock()
	defer n.run.mu.Unlock()
	for _, f := range frames {
		if s := n.rules.subs[sub]; s != nil && native.Frame(f).Kind() == native.Pub {
			s.sent[native.Frame(f).Tag()] += len(f)
		}
	}
}

// announce is a TAG of the node.
func announce(number uint32, tag string) []byte {
	return native.AppendTag(nil, native.TagFrame{Ref: number, Name: tag})
}

// jsonPub is a PUB of the node with JSON text.
func jsonPub(number uint32, text string) []byte {
	return native.AppendPub(nil, native.PubHeader{Flags: native.FlagValid, Type: ferry.JSON, Tag: number, Source: 3, Time: sampleTime}, []byte(text))
}

// storedPub is a PUB of a stored subscription.
func storedPub(tag string, sequence uint64, deliveries uint32, key, text string) []byte {
	var extension []byte
	if key != "" {
		extension = native.AppendTLV(extension, native.TLVKey, key)
	}
	return native.AppendStoredPub(nil, native.PubHeader{Flags: native.FlagValid, Type: ferry.JSON, Time: sampleTime},
		native.Stored{Tag: tag, Sequence: sequence, Deliveries: deliveries}, extension, []byte(text))
}

// returned waits until the client has returned credit for a subscription and tag number: all bytes that the kit has sent but less than
// the window, so that the kit may go on.
func (n *node) returned(sub, number uint32) {
	n.run.await("CREDIT, so that the node may send further messages", func() (bool, string) {
		s := n.rules.subs[sub]
		return s.sent[number]-s.credit[number] < s.window, ""
	}, n.seen)
}

// frame makes a frame of a kind from its fields, which may be malformed.
func frame(kind native.Kind, fields ...byte) []byte {
	f := []byte{0, 0, 0, 0, byte(kind), 0, 0, 0}
	f = append(f, fields...)
	binary.BigEndian.PutUint32(f, uint32(len(f)-4))
	return f
}

// withTail appends bytes to a frame that later versions might define.
func withTail(f []byte, tail ...byte) []byte {
	f = append(f, tail...)
	binary.BigEndian.PutUint32(f, uint32(len(f)-4))
	return f
}
