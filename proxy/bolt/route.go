package bolt

import (
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
)

// headerValues is the header of a request, as a route.Request needs it.
type headerValues struct {
	wire.Header
	err error // error of the last Lookup that found malformed bytes
}

// Get returns the value of header name, or nil if there is none.
func (v *headerValues) Get(name string) []byte {
	value, _, err := v.Lookup(name)
	if err != nil {
		v.err = err
	}
	return value
}

// Nth returns the value of header name: Lookup refuses a second one.
func (v *headerValues) Nth(name string, n int) []byte {
	if n > 0 {
		return nil
	}
	return v.Get(name)
}

// findRoute returns the findRoute of a request, or nil if none matches. f must hold the whole content or at least its first
// findRoute.MaxPayload bytes. So a findRoute is always found or ruled out in one call. The error is not nil if a condition
// reads a malformed header.
func (ls *loopState) findRoute(st *settings, f wire.Frame, tls *exchange.TLSInfo) (*route.Route, error) {
	ls.matchHeader = headerValues{Header: f.Header()}
	in := &ls.matchInput
	in.Bolt.Service, in.Bolt.Method, in.Bolt.Class, in.Header = nil, nil, f.Class(), nil
	in.ServerName, in.ClientIdentity = "", ""
	tls.SetRequest(in)
	if st.needs.target {
		if in.Bolt.Service = ls.matchHeader.Get(wire.TargetService); in.Bolt.Service == nil {
			in.Bolt.Service = ls.matchHeader.Get(wire.Service)
		}
		in.Bolt.Method = ls.matchHeader.Get(wire.Method)
	}
	if st.needs.header {
		in.Header = &ls.matchHeader
	}
	content := f.Content()
	r, _ := ls.matcher.Match(in, content, len(content) == f.ContentLen())
	return r, ls.matchHeader.err
}
