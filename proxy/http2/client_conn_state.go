package http2

import "example.com/ferry/proxy/exchange"

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

var connTransitions = exchange.Transitions[connState]{
	serving:     {"serving", []connState{goingAway, closing}},
	goingAway:   {"goingAway", []connState{lastStreams, closing}},
	lastStreams: {"lastStreams", []connState{closing}},
	closing:     {"closing", nil},
}

// enter changes the state. No other function does.
func (cc *clientConn) enter(next connState) {
	connTransitions.Enter("http2: a client's connection", &cc.state, next)
}
