package peer

// State is the phase of a Conn. It never returns to an earlier phase.
//
//	           HELLO, WELCOME           GOAWAY draining, sent or received
//	Handshake ───────────────► Established ───────────────► Draining
//	    │                           │                          │
//	    │ Refuse                    │ Close: GOAWAY ok, end    │ Close
//	    │                           │ of the stream, an error  │
//	    │                           └────────────┬─────────────┘
//	    ▼                                        ▼
//	  Closed ◄──────────────────────────────── Closing
//	             everything written, or Linger
//
// Handshake: only HELLO and WELCOME are read. Established: all frames of the Table are handled. Draining: all frames
// are still handled, but one end has announced that it is stopping, so the client reconnects elsewhere. Closing:
// arriving frames are discarded, appended frames are written. Closed: the goroutines have ended.
type State int32

// The states.
const (
	Handshake State = iota
	Established
	Draining
	Closing
	Closed
)

var stateNames = [...]string{"handshake", "established", "draining", "closing", "closed"}

func (s State) String() string { return stateNames[s] }

// nextStates lists the possible next states of each state.
var nextStates = [...][]State{
	Handshake:   {Established, Closed},
	Established: {Draining, Closing},
	Draining:    {Closing},
	Closing:     {Closed},
	Closed:      {},
}

// State returns the current state.
func (c *Conn) State() State { return State(c.state.Load()) }

// moveTo changes the state. It returns false if the current state does not allow the change. Of several concurrent
// calls one succeeds.
func (c *Conn) moveTo(next State) bool {
	for {
		now := c.State()
		allowed := false
		for _, s := range nextStates[now] {
			allowed = allowed || s == next
		}
		if !allowed {
			return false
		}
		if c.state.CompareAndSwap(int32(now), int32(next)) {
			return true
		}
	}
}
