package bolt

import (
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
)

// small forwards a frame that is all there.
func (s *session) small(st *setup, f wire.Frame, frame []byte) error {
	if st.cfg.CheckCRC {
		if err := f.CheckCRC(); err != nil {
			s.malformed(st, f)
			return err
		}
	}
	r := s.begin(st, f, frame)
	found, err := s.worker.route(st, f)
	if s.admit(st, r, f, found, err) {
		r.began = s.worker.loop.Now()
		r.send(f, frame)
	}
	return nil
}

// begin begins a request: the frame f, which p begins with.
func (s *session) begin(st *setup, f wire.Frame, p []byte) *request {
	r := s.worker.newRequest()
	r.x.Begin(st.plan, s.worker.loop)
	r.x.In = int64(f.FrameLen())
	r.session, r.oneway = s, f.Type() == wire.Oneway
	r.id = f.ID()
	copy(r.fixed[:f.FixedLen()], p)
	if r.next = s.first; r.next != nil {
		r.next.prev = r
	}
	s.first = r
	s.inFlight++
	return r
}

// admit has the request take its route, and reports whether it is to be forwarded; if not it is answered. err is what was
// wrong in the request.
func (s *session) admit(st *setup, r *request, f wire.Frame, found *route.Route, err error) bool {
	if st.plan.Log != nil {
		r.called = append(r.called, s.worker.asked.Bolt.Service...)
		r.method = append(r.method, s.worker.asked.Bolt.Method...)
	}
	if err != nil {
		r.refuse(traffic.BadRequest)
		return false
	}
	if why := r.x.Admit(found); why != traffic.Forwarded {
		s.finish(r, status(why))
		return false
	}
	r.bound(f)
	r.repeats = st.ask.repeat[found.Index]
	return true
}

// finish ends a request that no connection holds any more. status is what the client is told, unless it has had its answer.
func (s *session) finish(r *request, status wire.Status) {
	w := s.worker
	w.scratch = wire.AppendResponse(w.scratch[:0], r.frame(), status)
	r.x.Out = int64(len(w.scratch))
	s.writeOwn(w.scratch)
	s.end(r, traffic.Bolt(status), int(status))
}

// end is the end of a request, answered or not.
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
		s.first = r.next
	}
	s.inFlight--
	s.upload.forget(r)
	s.worker.freeRequest(r)
	s.settle()
}

func (s *session) log(r *request, code traffic.Code, status int) {
	e := &s.worker.entry
	*e = traffic.Entry{Host: r.called, Method: r.method, Status: status}
	if addr := s.client.RemoteAddr(); addr != nil {
		e.Client = addr.String()
	}
	r.x.Log(e, code)
}
