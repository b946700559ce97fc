package http1

import "example.com/ferry/proxy/exchange"

// downstreamState is the progress of the downstream side of a request:
//
//	inactive ──first byte──► readingHead ──route needs payload──► matchingPayload
//	                              │  └───────── route found ───────────┐   │
//	                              │                                    ▼   ▼
//	                              │   answered by the proxy         sendingBody ──last byte──► awaitingResponse
//	                              ▼                                     │                            │
//	                        discardingBody ◄──── response ended, more of the body comes              │
//	                              │                                     │ response ended             │ response ended
//	                              └────────────► inactive ◄─────────────┴────────────────────────────┘
//
// awaitingResponse leads to tunneling when a server of another protocol accepts a tunnel; from there to inactive.
//
// From each state except discardingBody, a response of the proxy's own leads to inactive, or to discardingBody if
// part of the body is missing. If the client leaves, the state becomes inactive.
type downstreamState uint8

const (
	inactive         downstreamState = iota
	readingHead                      // more bytes of the head must arrive
	matchingPayload                  // the route needs more of the body; all bytes are left unread
	sendingBody                      // bytes of the body are forwarded to the server
	awaitingResponse                 // the request is complete
	discardingBody                   // the response has ended; the rest of the body is discarded
	tunneling                        // the connection carries the bytes of another protocol
)

var downstreamTransitions = exchange.Transitions[downstreamState]{
	inactive:         {"inactive", []downstreamState{readingHead}},
	readingHead:      {"readingHead", []downstreamState{matchingPayload, sendingBody, discardingBody, inactive}},
	matchingPayload:  {"matchingPayload", []downstreamState{sendingBody, discardingBody, inactive}},
	sendingBody:      {"sendingBody", []downstreamState{awaitingResponse, discardingBody, inactive}},
	awaitingResponse: {"awaitingResponse", []downstreamState{tunneling, inactive}},
	discardingBody:   {"discardingBody", []downstreamState{inactive}},
	tunneling:        {"tunneling", []downstreamState{inactive}},
}

// enter changes the state. No other function does.
func (d *downstreamSide) enter(next downstreamState) {
	downstreamTransitions.Enter("http1: a downstream side", &d.state, next)
}
