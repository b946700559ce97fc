package hop

import (
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// codeUnimplemented is the status of a method that the called end does not have.
const codeUnimplemented = 12

// refuseCall ends a call: the node has no services.
func (r *receiver) refuseCall(f native.Frame) error {
	if err := r.ignoreCall(f); err != nil {
		return err
	}
	c, err := native.ParseCall(f)
	if err != nil {
		return err
	}
	r.session.peer.Respond(func(b []byte) []byte {
		return native.AppendReply(b, native.ReplyFrame{
			Flags: native.FlagNoMessage | native.FlagNotBegun, Call: c.Call, Code: codeUnimplemented,
			Extension: native.AppendTLV(nil, native.TLVMessage, "this node serves no calls"),
		})
	})
	return nil
}

// ignoreCall discards a further frame of a call that was refused.
func (r *receiver) ignoreCall(f native.Frame) error {
	if r.session.peer.Version() < native.CallVersion {
		return peer.Unexpected(f, "in version 1")
	}
	return nil
}
