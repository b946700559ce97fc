package http2

import (
	"slices"
	"testing"

	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http2"
)

// sensitiveFields returns the names of the fields that no table may index.
func sensitiveFields(h *wire.Head) (names []string) {
	for i := range h.Len() {
		if name, _ := h.Field(i); h.Sensitive(i) {
			names = append(names, string(name))
		}
	}
	return names
}

// TestSensitiveFields: a field that a peer forbids to index stays so on the other side, in heads and in trailers. RFC 7541, section
// 6.2.3.
func TestSensitiveFields(t *testing.T) {
	secret, value := []byte("x-secret"), []byte("v")
	seen := make(chan []string, 2)
	server := (&scriptedServer{head: func(_ *scriptedConn, s *wire.Stream, h *wire.Head, end bool) {
		seen <- sensitiveFields(h)
		if !end {
			return
		}
		for _, trailers := range []bool{false, true} {
			e := s.BeginHeaders()
			if !trailers {
				e.Status(200)
			}
			e.Sensitive(secret, value)
			e.FieldString("x-open", "v")
			e.End(trailers)
		}
		s.Release()
	}}).start(t)
	r := start(t, setup{servers: []string{server.addr}, connector: exchange.Connector(NewConnector(2))})
	p := newPeer(t, r.addr)
	s, x := p.h2.Open(), &exchangeOf{}
	s.User = x
	for _, trailers := range []bool{false, true} {
		e := s.BeginHeaders()
		if !trailers {
			e.Method([]byte("POST"))
			e.Scheme([]byte("http"))
			e.Authority([]byte("a"))
			e.Path([]byte("/"))
		}
		e.Sensitive(secret, value)
		e.FieldString("x-open", "v")
		e.End(trailers)
	}
	p.over(x)
	want := []string{"x-secret"}
	for _, part := range []string{"head", "trailers"} {
		if got := <-seen; !slices.Equal(got, want) {
			t.Errorf("%s of the request: %q may not be indexed, want %q", part, got, want)
		}
	}
	if !slices.Equal(x.sensitive, []string{"x-secret", "x-secret"}) {
		t.Errorf("head and trailers of the response: %q may not be indexed", x.sensitive)
	}
}
