package http1

import "example.com/ferry/proxy/exchange"

// upstreamState is the progress of the server's side of a request:
//
//	unused ──Open──► waiting ──a connection is free──► connected or connecting
//	   │                                                    │
//	   ├──Open, a kept connection──► awaitingHead ◄─Opened──┤
//	   └──Open, dialled──► connecting ──────────────────────┘
//	awaitingHead ──first byte──► receivingHead ──head──► receivingBody ──last byte──► unused
//
// If a reused connection fails before any byte of the request was sent, it is replaced: awaitingHead returns to
// connecting. Cancel, a failure and a tunnel lead from every state to unused.
type upstreamState uint8

const (
	unused        upstreamState = iota
	waiting                     // no connection is available yet
	connecting                  // the connection is being opened; the request is queued
	awaitingHead                // no byte of the response has arrived
	receivingHead               // part of the head has arrived
	receivingBody
)

var upstreamTransitions = exchange.Transitions[upstreamState]{
	unused:        {"unused", []upstreamState{waiting, connecting, awaitingHead}},
	waiting:       {"waiting", []upstreamState{connecting, awaitingHead, unused}},
	connecting:    {"connecting", []upstreamState{awaitingHead, unused}},
	awaitingHead:  {"awaitingHead", []upstreamState{receivingHead, connecting, unused}},
	receivingHead: {"receivingHead", []upstreamState{receivingBody, unused}},
	receivingBody: {"receivingBody", []upstreamState{unused}},
}

// enter changes the state. No other function does.
func (u *upstreamSide) enter(next upstreamState) {
	upstreamTransitions.Enter("http1: an upstream side", &u.state, next)
}
