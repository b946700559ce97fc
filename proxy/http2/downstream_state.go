package http2

import "example.com/ferry/proxy/exchange"

// downstreamState is the progress of the downstream side of a request:
//
//	inactive ──head──► matching ──route found──► sendingBody ──last byte──► awaitingResponse
//	                      │                          │                          │
//	                      ├──────────────────────────┴──────────────────────────┤
//	                      │ response complete,           response and request   │
//	                      │ part of it waits                 complete           ▼
//	                      ├──► flushing ─────────────────────────────────► inactive
//	                      │        │ sent, the request is incomplete            ▲
//	                      └────────┴──► discarding ──last byte, RST_STREAM──────┘
//	              response sent, the request is incomplete
//
// The end of the stream or of the connection leads from each state to inactive.
type downstreamState uint8

const (
	inactive         downstreamState = iota
	matching                         // the route is searched; it may need more of the body
	sendingBody                      // the body is forwarded to the server
	awaitingResponse                 // the request is complete
	flushing                         // the response is complete; part of it waits for the client's windows
	discarding                       // the response has left; the rest of the body is discarded
)

var downstreamTransitions = exchange.Transitions[downstreamState]{
	inactive:         {"inactive", []downstreamState{matching}},
	matching:         {"matching", []downstreamState{sendingBody, flushing, discarding, inactive}},
	sendingBody:      {"sendingBody", []downstreamState{awaitingResponse, flushing, discarding, inactive}},
	awaitingResponse: {"awaitingResponse", []downstreamState{flushing, inactive}},
	flushing:         {"flushing", []downstreamState{discarding, inactive}},
	discarding:       {"discarding", []downstreamState{inactive}},
}

// enter changes the state. No other function does.
func (d *downstreamSide) enter(next downstreamState) {
	downstreamTransitions.Enter("http2: a downstream side", &d.state, next)
}
