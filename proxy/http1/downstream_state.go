package http1

import "fmt"

// downstreamState says how far the downstream side of a request is:
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
// From each state but discardingBody, a response of the proxy's own leads to inactive too, or to discardingBody if more of the
// body comes. A client that leaves leads to inactive.
type downstreamState uint8

const (
	inactive         downstreamState = iota
	readingHead                      // bytes of the head are awaited
	matchingPayload                  // the route needs more of the payload; all bytes are left unread
	sendingBody                      // bytes of the body pass to the server
	awaitingResponse                 // the request is whole
	discardingBody                   // the response has ended, and the rest of the body is discarded
)

var downstreamTransitions = [...]struct {
	name string
	next []downstreamState
}{
	inactive:         {"inactive", []downstreamState{readingHead}},
	readingHead:      {"readingHead", []downstreamState{matchingPayload, sendingBody, discardingBody, inactive}},
	matchingPayload:  {"matchingPayload", []downstreamState{sendingBody, discardingBody, inactive}},
	sendingBody:      {"sendingBody", []downstreamState{awaitingResponse, discardingBody, inactive}},
	awaitingResponse: {"awaitingResponse", []downstreamState{inactive}},
	discardingBody:   {"discardingBody", []downstreamState{inactive}},
}

// checkTransitions makes a transition that is not in the drawing panic. Tests set it.
var checkTransitions bool

// enter is the one place in which the state changes.
func (d *downstreamSide) enter(next downstreamState) {
	if checkTransitions && !contains(downstreamTransitions[d.state].next, next) {
		panic(fmt.Sprintf("http1: a downstream side goes from %s to %s", downstreamTransitions[d.state].name, downstreamTransitions[next].name))
	}
	d.state = next
}

func contains[S comparable](states []S, s S) bool {
	for _, each := range states {
		if each == s {
			return true
		}
	}
	return false
}
