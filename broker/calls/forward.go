package calls

import (
	"fmt"
	"time"

	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/internal/clock"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// begin handles CALL. The error ends the connection.
func (r *Receiver) begin(f native.Frame, c *native.CallFrame, m *method) error {
	e := r.end
	rt, cfg := e.router, &e.cfg
	single := c.Flags&native.FlagEnd != 0
	bytes := len(c.Extension) + len(c.Message)
	rt.mu.Lock()
	defer rt.mu.Unlock()
	switch {
	case e.closed:
		return nil
	case e.made[c.Call] != nil:
		return &native.Error{Code: native.CodeProtocol, Reason: fmt.Sprintf("CALL %d, while a call with this number is in progress", c.Call)}
	case len(e.made) >= cfg.Calls:
		return &native.Error{Code: native.CodeCredit, Reason: fmt.Sprintf("more than %d calls in progress", cfg.Calls)}
	case single && e.taken >= cfg.Window && bytes > 0:
		return &native.Error{Code: native.CodeCredit, Reason: fmt.Sprintf("a call begins when %d bytes of a window of %d are in use", e.taken, cfg.Window)}
	}
	s := rt.services[m.service]
	if code, why := rt.refusal(e, s, m); code != 0 {
		if s == nil {
			rt.lost.Codes[code]++
		} else {
			s.stats.Codes[code]++
		}
		e.conn.Respond(func(b []byte) []byte { return appendRefusal(b, c.Call, code, why, true) })
		return nil
	}
	x := &relay{service: s, caller: e, callerID: c.Call, method: *m, single: single, timeout: c.Timeout, arrived: r.now}
	x.requests.left, x.responses.left = rt.streamWindow, int(e.limits.StreamWindow)
	x.responses.leg = leg{on: e.carrier(c.Call), id: c.Call}
	if err := x.requests.accept(c.Flags, len(c.Message), single); err != nil {
		return err
	}
	e.made[c.Call] = x
	s.stats.Active++
	if single {
		x.charged = bytes
		e.taken += bytes
	}
	var server *End
	if s.waiting.Len() == 0 {
		server = s.pick(single)
	}
	if server != nil {
		rt.assign(x, server)
	} else {
		x.place = s.waiting.PushBack(x)
	}
	rt.request(x, f, r.u)
	return nil
}

// refusal returns the code and the reason for refusing a call, or 0.
func (rt *Router) refusal(e *End, s *service, m *method) (code uint32, why string) {
	forbidden := e.client.MayCall(m.service)
	switch {
	case forbidden != nil:
		return codePermissionDenied, forbidden.Reason
	case int(e.limits.StreamWindow) < rt.streamWindow:
		return codeFailedPrecondition, fmt.Sprintf("a caller's stream window must be at least the node's %d bytes", rt.streamWindow)
	case e.leaving():
		return codeUnavailable, "the node is stopping"
	case s == nil && !rt.mayBeServed(m.service):
		return codeUnimplemented, fmt.Sprintf("no client of the node serves %q", m.service)
	case s == nil || !s.available():
		return codeUnavailable, unserved(m.service)
	}
	return 0, ""
}

// available reports whether a client serves s and was not asked to leave.
func (s *service) available() bool {
	for _, o := range s.instances {
		if !o.end.leaving() {
			return true
		}
	}
	return false
}

// assign makes server the instance that serves a call.
func (rt *Router) assign(x *relay, server *End) {
	x.state, x.server, x.serverID = forwarded, server, server.number()
	server.served[x.serverID] = x
	x.requests.leg = leg{on: server.carrier(x.serverID), id: x.serverID, method: x.method}
	if x.single {
		server.credit -= x.charged
	}
}

// dispatch forwards a call that has waited, with the frames that the node holds.
func (rt *Router) dispatch(x *relay, server *End, u *peer.Unflushed) {
	frames := x.unhold()
	rt.assign(x, server)
	frames.each(func(f native.Frame) {
		if x.state == forwarded { // not aborted by an earlier frame
			rt.request(x, f, u)
		}
	})
}

// unhold takes a call from those that wait, and returns the frames that the node holds.
func (x *relay) unhold() heldFrames {
	x.service.waiting.Remove(x.place)
	x.caller.held -= x.held.Bytes()
	frames := x.held
	x.held, x.place = heldFrames{}, nil
	return frames
}

// waited reduces the timeout of a call by the time that it has waited. It returns false if that has passed.
func (x *relay) waited() bool {
	if x.timeout == 0 {
		return true
	}
	now := clock.Now()
	ms := uint32(max(now-x.arrived, 0) / int64(time.Millisecond)) //nolint:gosec // a call waits for less than 49 days: its timeout
	if ms >= x.timeout {
		return false
	}
	x.timeout -= ms
	return true
}

// introduce gives both ends the credit that their stream windows exceed those which WELCOME has told the other end. It follows CALL.
func (rt *Router) introduce(x *relay, u *peer.Unflushed) {
	if more := int(x.server.limits.StreamWindow) - rt.streamWindow; more > 0 && !x.single {
		x.requests.left += more
		x.responses.leg.tell(u, creditFrame(x.callerID, more))
	}
	if more := int(x.caller.limits.StreamWindow) - rt.streamWindow; more > 0 {
		f := creditFrame(x.serverID, more)(nil)
		x.requests.leg.push(f, outlet.MaxCredit, u)
	}
}

func creditFrame(id uint32, bytes int) func([]byte) []byte {
	return func(b []byte) []byte {
		return native.AppendCallCredit(b, native.CallCreditFrame{Call: id, Bytes: uint32(bytes)})
	}
}

// request passes a frame of the caller on, or holds it while the call waits.
func (rt *Router) request(x *relay, f native.Frame, u *peer.Unflushed) {
	if x.state == waiting {
		if x.caller.held+len(f) > x.caller.cfg.Queue {
			rt.fail(x, codeResourceExhausted, "all instances are busy, and the frames that wait for them reach the node's limit", u)
			return
		}
		x.caller.held += len(f)
		x.held.Push(f, nil)
		return
	}
	call := f.Kind() == native.Call
	if call {
		f.SetTimeout(x.timeout)
	}
	if x.requests.leg.push(f, x.server.cfg.Queue, u) {
		rt.abort(x, codeResourceExhausted, "the instance reads too slowly", u)
		return
	}
	if call {
		rt.introduce(x, u)
	}
}

// requestArrived handles DATA of a call that the client makes.
func (rt *Router) requestArrived(e *End, f native.Frame, d *native.DataFrame, u *peer.Unflushed) error {
	x := e.made[d.Call]
	if x == nil {
		return nil
	}
	if err := x.requests.accept(d.Flags, len(d.Message), x.single); err != nil {
		return err
	}
	if x.single {
		x.charged += len(d.Message)
		e.taken += len(d.Message)
		if others := e.besidesMost(x); others >= e.cfg.Window {
			return &native.Error{Code: native.CodeCredit, Reason: fmt.Sprintf("calls go on when others use %d bytes of a window of %d", others, e.cfg.Window)}
		}
		if x.state == forwarded {
			x.server.credit -= len(d.Message)
		}
	}
	rt.request(x, f, u)
	return nil
}

// besidesMost returns how many bytes of the node's window all calls use but the one that uses the most. x uses more than before. A CALL
// may begin while some of the window is left, so only one exceeds it, and the others are less than the window.
func (e *End) besidesMost(x *relay) int {
	if e.most == nil || x.charged > e.most.charged {
		e.most = x
	}
	if e.taken-e.most.charged >= e.cfg.Window { // it may have got credit back, or have ended
		for _, other := range e.made {
			if other.single && other.charged > e.most.charged {
				e.most = other
			}
		}
	}
	return e.taken - e.most.charged
}

// responseArrived handles DATA of a call that the client serves.
func (rt *Router) responseArrived(e *End, f native.Frame, d *native.DataFrame, u *peer.Unflushed) error {
	x := e.served[d.Call]
	if x == nil || x.state != forwarded {
		return nil
	}
	if err := x.responses.accept(d.Flags&^native.FlagEnd, len(d.Message), false); err != nil {
		return err
	}
	if x.responses.leg.push(f, x.caller.cfg.Queue, u) {
		rt.abort(x, codeResourceExhausted, "the caller reads too slowly", u)
	}
	return nil
}

func (x *relay) tellCancel(code uint32, u *peer.Unflushed) {
	x.requests.leg.tell(u, func(b []byte) []byte {
		return native.AppendCancel(b, native.CancelFrame{Call: x.serverID, Code: code})
	})
}

// requestCredit handles CALLCREDIT of a client that serves the call.
func (rt *Router) requestCredit(e *End, c native.CallCreditFrame, u *peer.Unflushed) {
	x := e.served[c.Call]
	if x == nil {
		return
	}
	n := int(min(c.Bytes, outlet.MaxCredit))
	if x.single {
		n = min(n, x.charged)
		x.charged -= n
		e.credit += n
		if x.state == forwarded {
			x.caller.taken -= n
		}
	} else {
		x.requests.left = min(x.requests.left+n, outlet.MaxCredit)
	}
	if x.state == forwarded && n > 0 {
		x.responses.leg.tell(u, creditFrame(x.callerID, n))
	}
}

// responseCredit handles CALLCREDIT of a client that makes the call.
func (rt *Router) responseCredit(e *End, c native.CallCreditFrame, u *peer.Unflushed) {
	x := e.made[c.Call]
	if x == nil || x.state != forwarded {
		return
	}
	n := int(min(c.Bytes, outlet.MaxCredit))
	x.responses.left = min(x.responses.left+n, outlet.MaxCredit)
	x.requests.leg.tell(u, creditFrame(x.serverID, n))
}
