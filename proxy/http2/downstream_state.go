package http2

import "fmt"

// downstreamState is the progress of the downstream side of a request:
//
//	inactive ──head──► matching ──route found──► sendingBody ──last byte──► awaitingResponse
//	                      │                          │                          │
//	                      ▼                          ▼                          ▼
//	                   flushing  (the response is complete; part of it waits for the client)
//	                      │
//	                      └──► inactive
//
// A response that does not have to wait leads from each state to inactive at once. So do the end of the stream and the
// end of the connection. If the request is incomplete when its response has left, the client is told to stop with
// RST_STREAM (RFC 9113, section 8.1).
type downstreamState uint8

const (
	inactive         downstreamState = iota
	matching                         // the route is searched; it may need more of the body
	sendingBody                      // the body is forwarded to the server
	awaitingResponse                 // the request is complete
	flushing
)

var downstreamTransitions = [...]struct {
	name string
	next []downstreamState
}{
	inactive:         {"inactive", []downstreamState{matching}},
	matching:         {"matching", []downstreamState{sendingBody, flushing, inactive}},
	sendingBody:      {"sendingBody", []downstreamState{awaitingResponse, flushing, inactive}},
	awaitingResponse: {"awaitingResponse", []downstreamState{flushing, inactive}},
	flushing:         {"flushing", []downstreamState{inactive}},
}

// enter changes the state. No other function does.
func (d *downstreamSide) enter(next downstreamState) {
	if checkTransitions && !contains(downstreamTransitions[d.state].next, next) {
		panic(fmt.Sprintf("http2: a downstream side goes from %s to %s", downstreamTransitions[d.state].name, downstreamTransitions[next].name))
	}
	d.state = next
}
