package calls

import (
	"container/list"
	"fmt"

	"example.com/ferry/internal/clock"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// relayState is the phase of a relay.
//
//	            an instance is free           REPLY, or the instance is lost
//	CALL ─► waiting ─────────────► forwarded ──────────────────────────────► ended
//	           │                       │                                       ▲
//	           │ no instance is left,  │ the caller is gone, or a queue is     │
//	           │ CANCEL, the caller    │ full: CANCEL is sent                  │
//	           │ is gone               ▼     REPLY, or the instance is lost    │
//	           ▼                    orphaned ──────────────────────────────────┤
//	         ended                     the instance has not been sent CALL ────┘
type relayState uint8

const (
	waiting   relayState = iota // the node holds the caller's frames
	forwarded                   // frames cross the node in both directions
	orphaned                    // the caller has its REPLY or is gone; the instance still owes one
	ended
)

// relay is one call that crosses the node. The router's lock guards it, except the fields of legs that their streams guard.
type relay struct {
	state     relayState
	service   *service
	caller    *End
	callerID  uint32
	server    *End // nil while the call waits
	serverID  uint32
	method    method
	single    bool          // CALL has the only request, whose bytes are charged to windows of connections
	charged   int           // bytes of the only request that neither REPLY nor CALLCREDIT has returned
	timeout   uint32        // milliseconds; 0 means none
	arrived   int64         // when CALL arrived, as clock.Now
	held      heldFrames    // while the call waits
	place     *list.Element // in service.waiting, while the call waits
	requests  direction
	responses direction
}

// direction is one direction of a call: the rules that its frames obey, so that the receiving end need not close a connection that
// carries other calls too.
type direction struct {
	leg     leg
	left    int  // bytes of messages that the sender may still send, unless the window of a connection counts
	partial bool // a message has begun and is not complete
	ended   bool // no further message begins
}

// accept checks the next frame of a direction. charged says that another window counts its bytes.
func (d *direction) accept(flags byte, bytes int, charged bool) error {
	switch {
	case flags&native.FlagNoMessage != 0 && d.partial:
		return &native.Error{Code: native.CodeProtocol, Reason: "a frame without a message, within a message"}
	case d.ended && !d.partial:
		return &native.Error{Code: native.CodeProtocol, Reason: "DATA behind the end of a call's messages"}
	case flags&native.FlagNoMessage == 0 && !d.partial && !charged && d.left <= 0:
		return &native.Error{Code: native.CodeCredit, Reason: fmt.Sprintf("a message of %d bytes begins in a call without credit", bytes)}
	}
	d.left -= bytes
	if flags&native.FlagNoMessage == 0 {
		d.partial = flags&native.FlagMore != 0
	}
	d.ended = d.ended || flags&native.FlagEnd != 0
	return nil
}

// fail ends a call that no instance has seen.
func (rt *Router) fail(x *relay, code uint32, why string, u *peer.Unflushed) {
	rt.tellEnd(x, code, why, true, u)
	rt.endCaller(x, code, clock.Now())
	rt.endServer(x, u)
}

// abort ends a forwarded call for its caller. If the instance has seen the call, it is told to stop, and its REPLY is discarded.
func (rt *Router) abort(x *relay, code uint32, why string, u *peer.Unflushed) {
	if !x.requests.leg.drop() {
		rt.fail(x, code, why, u)
		return
	}
	x.tellCancel(codeCanceled, u)
	rt.tellEnd(x, code, why, false, u)
	rt.endCaller(x, code, clock.Now())
}

// loseCaller ends a call whose caller's connection is closing.
func (rt *Router) loseCaller(x *relay) {
	begun := x.state == forwarded && x.requests.leg.drop()
	rt.endCaller(x, codeCanceled, clock.Now())
	if begun {
		x.tellCancel(codeCanceled, nil)
		return
	}
	rt.endServer(x, nil)
}

// loseServer ends a call whose instance's connection is closing.
func (rt *Router) loseServer(x *relay) {
	if x.state == forwarded {
		begun := x.requests.leg.drop()
		rt.tellEnd(x, codeUnavailable, "the connection of the instance was lost", !begun, nil)
		rt.endCaller(x, codeUnavailable, clock.Now())
	}
	rt.endServer(x, nil)
}

// tellEnd sends the caller a REPLY of the node. Responses that wait are discarded.
func (rt *Router) tellEnd(x *relay, code uint32, why string, notBegun bool, u *peer.Unflushed) {
	x.responses.leg.drop()
	x.responses.leg.tell(u, func(b []byte) []byte { return appendRefusal(b, x.callerID, code, why, notBegun) })
}

func appendRefusal(b []byte, id, code uint32, why string, notBegun bool) []byte {
	flags := byte(native.FlagNoMessage)
	if notBegun {
		flags |= native.FlagNotBegun
	}
	return native.AppendReply(b, native.ReplyFrame{Flags: flags, Call: id, Code: code, Extension: native.AppendTLV(nil, native.TLVMessage, why)})
}

// endCaller counts a call whose caller has its REPLY or is gone, and forgets the caller's end. The instance may still owe REPLY.
func (rt *Router) endCaller(x *relay, code uint32, now int64) {
	e, s := x.caller, x.service
	delete(e.made, x.callerID)
	if x.single {
		e.taken -= x.charged
		if e.most == x {
			e.most = nil
		}
	}
	if x.state == waiting {
		frames := x.unhold()
		frames.Clear(func([]byte) {})
	}
	s.stats.count(code, now-x.arrived)
	x.state = orphaned
}

// endServer forgets a call of which the instance sends nothing more. Calls that wait may take its place.
func (rt *Router) endServer(x *relay, u *peer.Unflushed) {
	x.state = ended
	e := x.server
	if e == nil {
		return
	}
	delete(e.served, x.serverID)
	if x.single {
		e.credit += x.charged
	}
	if e.closed {
		return
	}
	for _, o := range e.offers {
		rt.serveWaiting(o.service, u)
	}
}
