package bolt

import (
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
)

// forwardWhole forwards a frame that has arrived whole.
func (s *session) forwardWhole(st *settings, f wire.Frame, frame []byte) error {
	if st.config.CheckCRC {
		if err := f.CheckCRC(); err != nil {
			s.malformed(st, f)
			return err
		}
	}
	r := s.newRequest(st, f, frame)
	found, err := s.loopState.route(st, f)
	if s.admit(st, r, f, found, err) {
		r.receivedAt = s.loopState.loop.Now()
		r.send(f, frame)
	}
	return nil
}

// newRequest begins the request of frame f, which p begins with.
func (s *session) newRequest(st *settings, f wire.Frame, p []byte) *request {
	r := s.loopState.newRequest()
	r.x.Begin(st.plan, s.loopState.loop)
	r.x.In = int64(f.FrameLen())
	r.loopState, r.downstream, r.oneway = s.loopState, s, f.Type() == wire.Oneway
	r.clientID = f.ID()
	copy(r.fixedHeader[:f.FixedLen()], p)
	if r.next = s.firstRequest; r.next != nil {
		r.next.prev = r
	}
	s.firstRequest = r
	s.inFlight++
	return r
}

// admit applies the route to the request, and reports whether it is to be forwarded. If not, admit has responded. err is why
// the request is malformed, or nil.
func (s *session) admit(st *settings, r *request, f wire.Frame, found *route.Route, err error) bool {
	if st.plan.Log != nil {
		r.service = append(r.service, s.loopState.matchInput.Bolt.Service...)
		r.method = append(r.method, s.loopState.matchInput.Bolt.Method...)
	}
	if err != nil {
		r.refuse(traffic.BadRequest)
		return false
	}
	if why := r.x.Admit(found); why != traffic.Forwarded {
		s.respondStatus(r, refusalStatus(why))
		return false
	}
	r.setTimeout(f)
	r.replayable = st.needs.replay[found.Index]
	return true
}

// respond writes a whole response, with the client's request id, and ends the request.
func (s *session) respond(r *request, frame []byte, status wire.Status) {
	s.write(frame)
	s.endRequest(r, status)
}

// respondStatus ends a request that no connection holds with a response of the proxy's own. A oneway gets none.
func (s *session) respondStatus(r *request, status wire.Status) {
	ls := s.loopState
	ls.scratch = wire.AppendResponse(ls.scratch[:0], r.frame(), status)
	r.x.Out = int64(len(ls.scratch))
	s.writeControl(ls.scratch)
	s.endRequest(r, status)
}

// endRequest ends a request with the status of its response.
func (s *session) endRequest(r *request, status wire.Status) {
	s.end(r, traffic.Bolt(status), int(status))
}

// end logs, counts and frees a request. code and status are 0 if the client has left.
func (s *session) end(r *request, code traffic.Code, status int) {
	if r.x.Logs(code) {
		s.log(r, code, status)
	}
	r.x.End(code)
	if r.next != nil {
		r.next.prev = r.prev
	}
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		s.firstRequest = r.next
	}
	s.inFlight--
	s.upload.requestEnded(r)
	s.loopState.freeRequest(r)
	s.update()
}

func (s *session) log(r *request, code traffic.Code, status int) {
	e := &s.loopState.logEntry
	*e = traffic.Entry{Host: r.service, Method: r.method, Status: status}
	if addr := s.client.RemoteAddr(); addr != nil {
		e.Client = addr.String()
	}
	r.x.Log(e, code)
}
