package http2

import "example.com/ferry/proxy/exchange"

// upstreamState is the progress of the server's side of a request:
//
//	unused ──Open──► waiting ──a stream is free──► awaitingHead ──head──► receivingBody ──END_STREAM──► unused
//	   └──Open, a stream is free─────────────────────▲    └──head with END_STREAM──────────────────────────▲
//
// Cancel and a failure lead from every state to unused.
type upstreamState uint8

const (
	unused       upstreamState = iota
	waiting                    // no stream is available yet
	awaitingHead               // the final head of the response has not arrived
	receivingBody
)

var upstreamTransitions = exchange.Transitions[upstreamState]{
	unused:        {"unused", []upstreamState{waiting, awaitingHead}},
	waiting:       {"waiting", []upstreamState{awaitingHead, unused}},
	awaitingHead:  {"awaitingHead", []upstreamState{receivingBody, unused}},
	receivingBody: {"receivingBody", []upstreamState{unused}},
}

// enter changes the state. No other function does.
func (u *upstreamSide) enter(next upstreamState) {
	upstreamTransitions.Enter("http2: an upstream side", &u.state, next)
}
