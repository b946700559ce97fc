package bolt

import (
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
)

// headerValues is the header of a request as a route.Request has it.
type headerValues struct {
	wire.Header
	err error // of the last malformed Lookup
}

// Get returns the value of a name, nil if there is none.
func (v *headerValues) Get(name string) []byte {
	value, _, err := v.Lookup(name)
	if err != nil {
		v.err = err
	}
	return value
}

// route returns the route of a request, nil if none matches. At least route.MaxPayload bytes of the content have arrived, or
// all of it, so the search always ends here. A header that is malformed where a condition reads it gives an error.
func (ls *loopState) route(st *settings, f wire.Frame) (*route.Route, error) {
	ls.matchHeader = headerValues{Header: f.Header()}
	in := &ls.matchInput
	in.Bolt.Service, in.Bolt.Method, in.Bolt.Class, in.Header = nil, nil, f.Class(), nil
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
