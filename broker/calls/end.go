package calls

import (
	"example.com/ferry/internal/clock"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

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
