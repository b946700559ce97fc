package http2

import "fmt"

// connState is the progress of a client's connection:
//
//	serving ──Shutdown, idle, max_requests, overload──► goingAway ──PING's response, or 1 s──► lastStreams ──no stream is left──► closing
//	   └── connection error, header timeout, end of the client's side ──► closing ◄──┘  (from all states)
//
// A client may have sent a request before it reads the first GOAWAY. The response to the PING shows that the client has
// read it. RFC 9113, section 6.8.
type connState uint8

const (
	serving     connState = iota
	goingAway             // the first GOAWAY is sent; requests are still accepted
	lastStreams           // the last GOAWAY is sent; open streams are served to their end
	closing               // the proxy's side ends once the queue is written; received bytes are discarded
)

var connTransitions = [...]struct {
	name string
	next []connState
}{
	serving:     {"serving", []connState{goingAway, closing}},
	goingAway:   {"goingAway", []connState{lastStreams, closing}},
	lastStreams: {"lastStreams", []connState{closing}},
	closing:     {"closing", nil},
}

// checkTransitions makes enter panic on a transition that the diagram does not have. Only tests set it.
var checkTransitions bool

// enter changes the state. No other function does.
func (cc *clientConn) enter(next connState) {
	if checkTransitions && !contains(connTransitions[cc.state].next, next) {
		panic(fmt.Sprintf("http2: a client's connection goes from %s to %s", connTransitions[cc.state].name, connTransitions[next].name))
	}
	cc.state = next
}

func contains[S comparable](states []S, s S) bool {
	for _, each := range states {
		if each == s {
			return true
		}
	}
	return false
}
