package bolt

import (
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
)

// ask is what has to be known of requests under a Plan: nothing else is looked for.
type ask struct {
	call    bool   // service and method
	header  bool   // pairs of the header
	payload bool   // the content
	repeat  []bool // by Route.Index: requests may be sent again after they were sent, so a copy is kept
}

func newAsk(p *exchange.Plan) ask {
	a := ask{call: p.Log != nil}
	for _, r := range p.Table.Routes() {
		m := &r.Match
		a.call = a.call || m.Bolt.Service != "" || m.Bolt.Method != ""
		a.header = a.header || len(m.Headers) > 0
		a.payload = a.payload || m.Payload != nil
		retry := r.Forward.Retry
		a.repeat = append(a.repeat, retry != nil && retry.Idempotent)
	}
	return a
}

// values is the header of the request at hand as a routing table asks for it.
type values struct {
	wire.Header
	err error // what is wrong in it, as far as it was asked for
}

// Get returns the value of a name, nil if there is none.
func (v *values) Get(name string) []byte {
	value, _, err := v.Lookup(name)
	if err != nil {
		v.err = err
	}
	return value
}

// route returns the route of a request, nil if none matches. At least route.MaxPayload bytes of the content have arrived, or
// all of it, so the search always ends here. A header that is malformed where a condition reads it gives an error.
func (w *worker) route(st *setup, f wire.Frame) (*route.Route, error) {
	w.header = values{Header: f.Header()}
	q := &w.asked
	q.Bolt.Service, q.Bolt.Method, q.Bolt.Class, q.Header = nil, nil, f.Class(), nil
	if st.ask.call {
		if q.Bolt.Service = w.header.Get(wire.TargetService); q.Bolt.Service == nil {
			q.Bolt.Service = w.header.Get(wire.Service)
		}
		q.Bolt.Method = w.header.Get(wire.Method)
	}
	if st.ask.header {
		q.Header = &w.header
	}
	content := f.Content()
	r, _ := w.matcher.Match(q, content, len(content) == f.ContentLen())
	return r, w.header.err
}
