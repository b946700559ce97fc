package bolt

import (
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/limit"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/bolt"
)

// forwardWhole forwards a frame that is completely in frame, over a connection that clients share. A server that finds a wrong CRC closes
// it. Larger frames have a connection of their own.
func (s *session) forwardWhole(st *settings, f wire.Frame, frame []byte) error {
	if err := f.CheckCRC(); err != nil {
		s.malformed(st, f)
		return err
	}
	r := s.newRequest(st, f, frame)
	found, err := s.loopState.findRoute(st, f, r.exchange.TLS)
	if s.admit(st, r, f, found, err) {
		r.receivedAt = s.loopState.loop.Now()
		r.send(f, frame)
	}
	return nil
}

// newRequest creates the request of frame f. p begins with the frame.
func (s *session) newRequest(st *settings, f wire.Frame, p []byte) *request {
	r := s.loopState.newRequest()
	r.exchange.Begin(st.plan, s.loopState.loop)
	r.exchange.TLS = exchange.ClientTLS(s.client)
	r.exchange.In = int64(f.FrameLen())
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

// admit applies route found to the request and reports whether the request is forwarded. If not, admit has sent a
// response. err is the reason why the request is malformed, or nil.
func (s *session) admit(st *settings, r *request, f wire.Frame, found *route.Route, err error) bool {
	if st.plan.Log != nil {
		r.service = append(r.service, s.loopState.matchInput.Bolt.Service...)
		r.method = append(r.method, s.loopState.matchInput.Bolt.Method...)
	}
	if err != nil {
		r.refuse(traffic.BadRequest)
		return false
	}
	if why := r.exchange.Admit(found, s); why != traffic.Forwarded {
		s.respondStatus(r, refusalStatus(why))
		return false
	}
	r.setTimeout(f)
	r.replayable = st.needs.replay[found.Index]
	return true
}

// respond writes a whole response and ends the request. frame already has the client's request id.
func (s *session) respond(r *request, frame []byte, status wire.Status) {
	s.write(frame)
	s.endRequest(r, status)
}

// respondStatus ends a request with a response of the proxy's own. No connection holds the request. A oneway gets no
// response.
func (s *session) respondStatus(r *request, status wire.Status) {
	ls := s.loopState
	ls.scratch = wire.AppendResponse(ls.scratch[:0], r.frame(), status)
	r.exchange.Out = int64(len(ls.scratch))
	s.writeControl(ls.scratch)
	s.endRequest(r, status)
}

// endRequest ends a request. status is the status of its response.
func (s *session) endRequest(r *request, status wire.Status) {
	s.finishRequest(r, traffic.Bolt(status), int(status))
}

// finishRequest logs, counts and frees a request. code and status are 0 if the client has left.
func (s *session) finishRequest(r *request, code traffic.Code, status int) {
	if r.exchange.Logs(code) {
		s.log(r, code, status)
	}
	r.exchange.End(code)
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
	r.exchange.Log(e, code)
}

// A session is the client of its requests for the listener's rate limit.
var _ limit.Client = (*session)(nil)

// ClientAddr returns the client's IP address. It asks the system once for each session.
func (s *session) ClientAddr() string {
	if s.addr == "" {
		s.addr = s.client.RemoteIP()
	}
	return s.addr
}

// ClientIdentity returns the name in the client's TLS certificate.
func (s *session) ClientIdentity() string {
	if info := exchange.ClientTLS(s.client); info != nil {
		return info.Identity
	}
	return ""
}

// ClientField returns the value of a key of the header that findRoute searched last.
func (s *session) ClientField(name string) []byte { return s.loopState.matchHeader.Get(name) }
