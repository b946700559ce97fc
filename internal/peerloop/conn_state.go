package peerloop

// phase is what a connection does with the bytes that arrive.
//
//	         HELLO                  identified
//	hello ──────────► identifying ────────────► open
//	  │                    │                      │
//	  │ malformed, late    │ refused, lost        │ the peer.Conn is closing
//	  └────────────────────┴──────────┬───────────┘
//	                                  ▼
//	                                done
//
// hello: the first frame has not arrived. identifying: the client's credentials are checked, perhaps on a goroutine; reading is paused.
// open: frames are passed to their handlers. done: bytes are discarded; what is queued is still written.
type phase uint8

const (
	hello phase = iota
	identifying
	open
	done
)
