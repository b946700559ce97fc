package bolt

import "example.com/ferry/proxy/exchange"

// settings is an immutable snapshot of the configuration. Use replaces it.
type settings struct {
	config Config
	plan   *exchange.Plan
	needs  requestNeeds
}

// requestNeeds says which parts of a request a Plan reads. Other parts are not parsed.
type requestNeeds struct {
	target  bool   // service and method name
	header  bool   // header pairs other than service and method
	payload bool   // the content
	replay  []bool // indexed by Route.Index; true if a copy of the request is needed for retries
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
