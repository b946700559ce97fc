package h2conn

import "slices"

// state is the progress of a connection towards its end.
//
//	          Drain of a server                  PONG, or drainTime                 last stream ended
//	serving ───────────────────► announced ────────────────────────► draining ─────────────────────────► closing
//	  │  │                           │                                ▲   │                                 ▲
//	  │  └── Drain of a client, or GOAWAY of the server ──────────────┘   │                                 │
//	  │                              │                                    │                                 │
//	  └──────────────────────────────┴──── Close, or an error ────────────┴─────────────────────────────────┘
//
// announced: GOAWAY with the id 2^31-1 is sent, and streams that the client opened meanwhile are accepted. draining: the final GOAWAY
// is sent or received. closing: streams are reset, arriving bytes are discarded, and queued bytes are written.
type state uint8

const (
	serving state = iota
	announced
	draining
	closing
)

var nextStates = [...][]state{
	serving:   {announced, draining, closing},
	announced: {draining, closing},
	draining:  {closing},
	closing:   {},
}

// enter changes the state, if the current one allows it.
func (c *Conn) enter(next state) {
	if slices.Contains(nextStates[c.state], next) {
		c.state = next
	}
}
