package http1

import "fmt"

// upstreamState says how far the server's side of a request is:
//
//	unused ──Open──► waiting ──a connection is free──► connected or connecting
//	   │                                                    │
//	   ├──Open, a kept connection──► awaitingHead ◄─Opened──┤
//	   └──Open, dialled──► connecting ──────────────────────┘
//
//	awaitingHead ──first byte──► receivingHead ──head──► receivingBody ──last byte──► unused
//
// A kept connection that fails before anything has left is replaced: awaitingHead leads back to connecting. Cancel, a failure
// and a tunnel lead from every state to unused.
type upstreamState uint8

const (
	unused        upstreamState = iota
	waiting                     // for a connection
	connecting                  // the request is queued
	awaitingHead                // no byte of the response has come
	receivingHead               // a part of the head has come
	receivingBody
)

var upstreamTransitions = [...]struct {
	name string
	next []upstreamState
}{
	unused:        {"unused", []upstreamState{waiting, connecting, awaitingHead}},
	waiting:       {"waiting", []upstreamState{connecting, awaitingHead, unused}},
	connecting:    {"connecting", []upstreamState{awaitingHead, unused}},
	awaitingHead:  {"awaitingHead", []upstreamState{receivingHead, connecting, unused}},
	receivingHead: {"receivingHead", []upstreamState{receivingBody, unused}},
	receivingBody: {"receivingBody", []upstreamState{unused}},
}

// enter is the one place in which the state changes.
func (u *upstreamSide) enter(next upstreamState) {
	if checkTransitions && !contains(upstreamTransitions[u.state].next, next) {
		panic(fmt.Sprintf("http1: an upstream side goes from %s to %s", upstreamTransitions[u.state].name, upstreamTransitions[next].name))
	}
	u.state = next
}
