package http1

import (
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http1"
)

// forward sends the head that p begins with to a server.
func (s *session) forward(p []byte) {
	s.phase = atBody
	if !s.choose() {
		return
	}
	s.setEdit(p)
	scratch := wire.AppendRequest(s.share.scratch[:0], p[:s.headSize], &s.head, &s.share.request)
	s.share.scratch = scratch
	if s.up != nil {
		s.send(scratch)
	}
	if again := s.repeatable(); again || s.up == nil {
		s.kept.begin(scratch, again)
	}
	if s.body.Done() {
		s.sent()
	} else {
		s.move()
		s.watchRate()
	}
}

// choose chooses a server and gets a connection to it, or waits for one. If it returns false, the client has been answered.
func (s *session) choose() bool {
	if why := s.x.Choose(); why != traffic.Forwarded {
		s.refused(why)
		return false
	}
	s.pool = poolOf(s.x.Endpoint, s.client.Loop())
	s.open, s.heard = false, false
	if !s.pool.get(s) {
		s.refused(s.x.Refuse(traffic.Overload))
		return false
	}
	return true
}

// setEdit says how the head changes on its way.
func (s *session) setEdit(p []byte) {
	r, h, e := s.x.Route, &s.head, &s.share.request
	*e = wire.RequestEdit{Host: r.Forward.Rewrite.Host, Via: s.rules.Via, Fields: r.RequestEdits.HTTP1(), NoExpect: s.answered}
	e.Strip, e.Prefix = r.Rewrite(s.request.Path)
	if len(s.request.Path) > int(h.Path.End-h.Path.Start) {
		e.Strip = 0 // the slash is not there
	}
	if h.Upgrade && h.Framing == wire.NoBody && s.rules.upgrades(h.UpgradeTo(p)) {
		e.Upgrade, s.upgrade = true, true
	}
	if h.Minor == 0 && h.Authority.Empty() && e.Host == "" {
		e.Host = host(s.x.Endpoint.Addr())
	}
	if s.rules.ForwardedFor {
		e.ForwardedFor, e.Proto, e.KeepForwarded = s.address(), "http", s.rules.TrustForwarded
	}
}
