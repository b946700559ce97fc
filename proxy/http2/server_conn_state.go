package http2

import "example.com/ferry/proxy/exchange"

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

var serverTransitions = exchange.Transitions[serverState]{
	serverConnecting: {"serverConnecting", []serverState{serverOpen, serverClosed}},
	serverOpen:       {"serverOpen", []serverState{serverDraining, serverClosed}},
	serverDraining:   {"serverDraining", []serverState{serverClosed}},
	serverClosed:     {"serverClosed", nil},
}

// enter changes the state. No other function does.
func (sc *serverConn) enter(next serverState) {
	serverTransitions.Enter("http2: a connection to a server", &sc.state, next)
}
