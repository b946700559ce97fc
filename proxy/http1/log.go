package http1

import (
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http1"
)

// log writes the request to the access log.
func (s *session) log(status int, code traffic.Code) {
	s.share.entry = s.logEntry(status)
	s.x.Log(&s.share.entry, code)
}

// logEntry is the request as it is logged, with views of its head.
func (s *session) logEntry(status int) traffic.Entry {
	e := traffic.Entry{Client: s.address(), Status: status}
	if s.headSize > 0 {
		head := s.logged
		e.Method, e.Host, e.Path = s.head.MethodName.Of(head), s.head.Authority.Of(head), s.head.Path.Of(head)
		if f, ok := s.head.Find(wire.Traceparent); ok {
			e.Trace = traffic.TraceID(f.Value.Of(head))
		}
	}
	return e
}
