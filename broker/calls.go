package broker

import (
	"fmt"
	"strings"

	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// calledMethod is the meaning that METHOD has given to a number on a stream.
type calledMethod struct {
	name, content string
	service       string // name up to its last dot
}

// maxMethodNames bounds the bytes of the names that one stream may announce.
const maxMethodNames = 64 << 10

// callFrame wraps the handler of a frame of calls, which version 1 does not have.
func callFrame(onData bool, handle func(*receiver, native.Frame) error) peer.Kind[*receiver] {
	return peer.Kind[*receiver]{OnData: onData, Handle: func(r *receiver, f native.Frame) error {
		if r.session.peer.Version() < native.CallVersion {
			return peer.Unexpected(f, "in version 1")
		}
		return handle(r, f)
	}}
}

// method handles METHOD.
func (r *receiver) method(f native.Frame) error {
	v, err := native.ParseMethod(f)
	if err != nil {
		return err
	}
	for len(r.methods) <= int(v.Number) {
		r.methods = append(r.methods, calledMethod{})
	}
	m := &r.methods[v.Number]
	r.methodNames += len(v.Method) + len(v.Content) - len(m.name) - len(m.content)
	if r.methodNames > maxMethodNames {
		return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("METHODs with more than %d bytes of names", maxMethodNames)}
	}
	*m = calledMethod{name: v.Method, content: v.Content}
	if dot := strings.LastIndexByte(v.Method, '.'); dot > 0 {
		m.service = v.Method[:dot]
	}
	r.session.broker.calls.expect(&r.session.calls)
	return nil
}

// expect notes that a client makes calls: a node that stops waits until it leaves.
func (rt *callRouter) expect(e *callEnd) {
	rt.mu.Lock()
	e.calls = true
	rt.mu.Unlock()
}

// call handles CALL.
func (r *receiver) call(f native.Frame) error {
	c, err := native.ParseCall(f)
	if err == nil {
		err = native.CheckTLVs(c.Extension)
	}
	switch {
	case err != nil:
		return err
	case c.Call&1 == 0:
		return &native.Error{Code: native.CodeProtocol, Reason: fmt.Sprintf("CALL %d: the number belongs to the other end", c.Call)}
	case int(c.Method) >= len(r.methods) || r.methods[c.Method].name == "":
		return &native.Error{Code: native.CodeProtocol, Reason: fmt.Sprintf("CALL of method %d, which no METHOD has named", c.Method)}
	}
	return r.session.broker.calls.begin(r, f, &c, &r.methods[c.Method])
}

// refuseCall ends a call that no instance gets.
func (r *receiver) refuseCall(id, code uint32, why string) {
	r.session.peer.Respond(func(b []byte) []byte { return appendRefusal(b, id, code, why, true) })
}

// callData handles DATA. Odd calls are made by the client, even ones by the node.
func (r *receiver) callData(f native.Frame) error {
	d, err := native.ParseData(f)
	if err == nil {
		err = native.CheckTLVs(d.Extension)
	}
	switch {
	case err != nil:
		return err
	case d.Call&1 != 0:
		return r.session.broker.calls.requestArrived(&r.session.calls, f, &d, &r.unflushed)
	}
	return r.session.broker.calls.responseArrived(&r.session.calls, f, &d, &r.unflushed)
}

// reply handles REPLY.
func (r *receiver) reply(f native.Frame) error {
	v, err := native.ParseReply(f)
	if err == nil {
		err = native.CheckTLVs(v.Extension)
	}
	if err == nil {
		r.session.broker.calls.reply(&r.session.calls, f, &v, r.elapsed, &r.unflushed)
	}
	return err
}

// cancelCall handles CANCEL.
func (r *receiver) cancelCall(f native.Frame) error {
	c, err := native.ParseCancel(f)
	if err == nil {
		r.session.broker.calls.cancel(&r.session.calls, c, &r.unflushed)
	}
	return err
}

// callCredit handles CALLCREDIT.
func (r *receiver) callCredit(f native.Frame) error {
	c, err := native.ParseCallCredit(f)
	switch {
	case err != nil:
		return err
	case c.Call&1 != 0:
		r.session.broker.calls.responseCredit(&r.session.calls, c, &r.unflushed)
	default:
		r.session.broker.calls.requestCredit(&r.session.calls, c, &r.unflushed)
	}
	return nil
}

// offer handles OFFER.
func (r *receiver) offer(f native.Frame) error {
	v, err := native.ParseOffer(f)
	if err != nil {
		return err
	}
	s := r.session
	result := native.ResultFrame{Kind: native.Offer, Ref: v.ID}
	if v.Withdraw {
		result.Value = native.Withdrawn
		s.broker.calls.withdraw(&s.calls, v.ID, &r.unflushed)
	} else {
		err = s.broker.calls.addOffer(&s.calls, v, &r.unflushed)
	}
	s.respond(result, err)
	return nil
}

// mayBeServed reports whether an identity is granted to serve this service by name.
func (b *Broker) mayBeServed(service string) bool {
	b.mu.Lock()
	known := b.identities
	b.mu.Unlock()
	if known == nil {
		return false
	}
	for i := range known.known {
		for _, p := range known.known[i].Identity.Serve {
			if p != topic.AllServices && topic.MatchService([]string{p}, service) {
				return true
			}
		}
	}
	return false
}
