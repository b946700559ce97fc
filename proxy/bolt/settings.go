package bolt

import "example.com/ferry/proxy/exchange"

// settings is the configuration that Use puts in place. It never changes.
type settings struct {
	config Config
	plan   *exchange.Plan
	needs  requestNeeds
}

// requestNeeds says which parts of a request a Plan depends on. No other part is read.
type requestNeeds struct {
	target  bool   // service and method
	header  bool   // other pairs of the header
	payload bool   // the content
	replay  []bool // by Route.Index: a request may be sent twice, so a copy is kept
}

func newRequestNeeds(p *exchange.Plan) requestNeeds {
	n := requestNeeds{target: p.Log != nil}
	for _, r := range p.Table.Routes() {
		m := &r.Match
		n.target = n.target || m.Bolt.Service != "" || m.Bolt.Method != ""
		n.header = n.header || len(m.Headers) > 0
		n.payload = n.payload || m.Payload != nil
		retry := r.Forward.Retry
		n.replay = append(n.replay, retry != nil && retry.Idempotent)
	}
	return n
}
