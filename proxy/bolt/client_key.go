package bolt

import (
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/limit"
)

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
