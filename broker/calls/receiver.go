package calls

import (
	"fmt"
	"strings"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// method is the meaning that METHOD has given to a number on a stream.
type method struct {
	name, content string
	service       string // name up to its last dot
}

// maxMethodNames bounds the bytes of the names that one stream may announce.
const maxMethodNames = 64 << 10

// Receiver handles the frames of one stream of a client that are about calls.
type Receiver struct {
	end         *End
	methods     []method // by number
	methodNames int      // bytes of the names in methods

	now int64 // when the frame arrived, as clock.Now
	u   *peer.Unflushed
}

// NewReceiver returns the Receiver of one stream of e.
func (e *End) NewReceiver() Receiver { return Receiver{end: e} }

// Handle handles a frame that arrived at the time now, as clock.Now. It may leave streams unflushed in u. The error ends the connection.
func (r *Receiver) Handle(f native.Frame, now int64, u *peer.Unflushed) error {
	r.now, r.u = now, u
	switch f.Kind() {
	case native.Method:
		return r.method(f)
	case native.Call:
		return r.call(f)
	case native.Data:
		return r.data(f)
	case native.Reply:
		return r.reply(f)
	case native.Cancel:
		return r.cancel(f)
	case native.CallCredit:
		return r.credit(f)
	}
	return r.offer(f)
}

// method handles METHOD.
func (r *Receiver) method(f native.Frame) error {
	v, err := native.ParseMethod(f)
	if err != nil {
		return err
	}
	for len(r.methods) <= int(v.Number) {
		r.methods = append(r.methods, method{})
	}
	m := &r.methods[v.Number]
	r.methodNames += len(v.Method) + len(v.Content) - len(m.name) - len(m.content)
	if r.methodNames > maxMethodNames {
		return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("METHODs with more than %d bytes of names", maxMethodNames)}
	}
	*m = method{name: v.Method, content: v.Content}
	if dot := strings.LastIndexByte(v.Method, '.'); dot > 0 {
		m.service = v.Method[:dot]
	}
	rt := r.end.router
	rt.mu.Lock()
	r.end.calls = true
	rt.mu.Unlock()
	return nil
}

// call handles CALL.
func (r *Receiver) call(f native.Frame) error {
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
	return r.begin(f, &c, &r.methods[c.Method])
}

// data handles DATA. Odd calls are made by the client, even ones by the node.
func (r *Receiver) data(f native.Frame) error {
	d, err := native.ParseData(f)
	if err == nil {
		err = native.CheckTLVs(d.Extension)
	}
	if err != nil {
		return err
	}
	rt := r.end.router
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if d.Call&1 != 0 {
		return rt.requestArrived(r.end, f, &d, r.u)
	}
	return rt.responseArrived(r.end, f, &d, r.u)
}

// reply handles REPLY: the call has ended.
func (r *Receiver) reply(f native.Frame) error {
	v, err := native.ParseReply(f)
	if err == nil {
		err = native.CheckTLVs(v.Extension)
	}
	if err != nil {
		return err
	}
	rt := r.end.router
	rt.mu.Lock()
	defer rt.mu.Unlock()
	x := r.end.served[v.Call]
	if x == nil {
		return nil
	}
	if x.state == forwarded {
		if x.responses.leg.push(f, x.caller.cfg.Queue, r.u) {
			rt.tellEnd(x, codeResourceExhausted, "the caller reads too slowly", false, r.u)
			v.Code = codeResourceExhausted
		}
		rt.endCaller(x, v.Code, r.now)
	}
	rt.endServer(x, r.u)
	return nil
}

// cancel handles CANCEL. REPLY follows.
func (r *Receiver) cancel(f native.Frame) error {
	c, err := native.ParseCancel(f)
	if err != nil {
		return err
	}
	rt := r.end.router
	rt.mu.Lock()
	defer rt.mu.Unlock()
	x := r.end.made[c.Call]
	switch {
	case x == nil:
	case x.state == waiting || !x.requests.leg.drop():
		code := uint32(codeCanceled)
		if c.Code == codeDeadlineExceeded {
			code = codeDeadlineExceeded
		}
		rt.fail(x, code, "the caller has cancelled the call before an instance got it", r.u)
	default:
		x.tellCancel(c.Code, r.u)
	}
	return nil
}

// credit handles CALLCREDIT.
func (r *Receiver) credit(f native.Frame) error {
	c, err := native.ParseCallCredit(f)
	if err != nil {
		return err
	}
	rt := r.end.router
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if c.Call&1 != 0 {
		rt.responseCredit(r.end, c, r.u)
	} else {
		rt.requestCredit(r.end, c, r.u)
	}
	return nil
}

// offer handles OFFER.
func (r *Receiver) offer(f native.Frame) error {
	v, err := native.ParseOffer(f)
	if err != nil {
		return err
	}
	result := native.ResultFrame{Kind: native.Offer, Ref: v.ID}
	if v.Withdraw {
		result.Value = native.Withdrawn
		rt := r.end.router
		rt.mu.Lock()
		if o := r.end.offers[v.ID]; o != nil {
			rt.removeOffer(o, r.u)
		}
		rt.mu.Unlock()
	} else {
		err = r.end.router.addOffer(r.end, v, r.u)
	}
	r.end.client.Result(result, err)
	return nil
}
