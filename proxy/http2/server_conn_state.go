package http2

import (
	"fmt"
	"slices"
)

// serverState is the progress of a connection to a server:
//
//	serverConnecting ──Opened──► serverOpen ──GOAWAY──► serverDraining ──the last stream ends──► serverClosed
//	        │                        └──────── idle, retired, shut down ─────────────────────────────▲
//	        └── the connection fails, in every state ────────────────────────────────────────────────┘
//
// Streams are opened while connecting and open. A closed connection has no streams and is in no pool; its socket may
// still write its queue.
type serverState uint8

const (
	serverConnecting serverState = iota
	serverOpen
	serverDraining // the server accepts no further streams
	serverClosed
)

var serverTransitions = [...]struct {
	name string
	next []serverState
}{
	serverConnecting: {"serverConnecting", []serverState{serverOpen, serverClosed}},
	serverOpen:       {"serverOpen", []serverState{serverDraining, serverClosed}},
	serverDraining:   {"serverDraining", []serverState{serverClosed}},
	serverClosed:     {"serverClosed", nil},
}

// enter changes the state. No other function does.
func (sc *serverConn) enter(next serverState) {
	if checkTransitions && !slices.Contains(serverTransitions[sc.state].next, next) {
		panic(fmt.Sprintf("http2: a connection to a server goes from %s to %s", serverTransitions[sc.state].name, serverTransitions[next].name))
	}
	sc.state = next
}
