package calls

import (
	"container/list"
	"fmt"

	"example.com/ferry/protocol/native"
)

// relayState is the phase of a relay.
//
//	            an instance is free           REPLY, or the instance is lost
//	CALL ─► waiting ─────────────► forwarded ──────────────────────────────► ended
//	           │                       │                                       ▲
//	           │ no instance is left,  │ the caller is gone, or a queue is     │
//	           │ CANCEL, the caller    │ full: CANCEL is sent                  │
//	           │ is gone               ▼     REPLY, or the instance is lost    │
//	           ▼                    orphaned ──────────────────────────────────┤
//	         ended                     the instance has not been sent CALL ────┘
type relayState uint8

const (
	waiting   relayState = iota // the node holds the caller's frames
	forwarded                   // frames cross the node in both directions
	orphaned                    // the caller has its REPLY or is gone; the instance still owes one
	ended
)

// relay is one call that crosses the node. The router's lock guards it, except the fields of legs that their streams guard.
type relay struct {
	state     relayState
	service   *service
	caller    *End
	callerID  uint32
	server    *End // nil while the call waits
	serverID  uint32
	method    method
	single    bool          // CALL has the only request, whose bytes are charged to windows of connections
	charged   int           // bytes of the only request that neither REPLY nor CALLCREDIT has returned
	timeout   uint32        // milliseconds; 0 means none
	arrived   int64         // when CALL arrived, as clock.Now
	held      heldFrames    // while the call waits
	place     *list.Element // in service.waiting, while the call waits
	requests  direction
	responses direction
}

// direction is one direction of a call: the rules that its frames obey, so that the receiving end need not close a connection that
// carries other calls too.
type direction struct {
	leg     leg
	left    int  // bytes of messages that the sender may still send, unless the window of a connection counts
	partial bool // a message has begun and is not complete
	ended   bool // no further message begins
}

// accept checks the next frame of a direction. charged says that another window counts its bytes.
func (d *direction) accept(flags byte, bytes int, charged bool) error {
	switch {
	case flags&native.FlagNoMessage != 0 && d.partial:
		return &native.Error{Code: native.CodeProtocol, Reason: "a frame without a message, within a message"}
	case d.ended && !d.partial:
		return &native.Error{Code: native.CodeProtocol, Reason: "DATA behind the end of a call's messages"}
	case flags&native.FlagNoMessage == 0 && !d.partial && !charged && d.left <= 0:
		return &native.Error{Code: native.CodeCredit, Reason: fmt.Sprintf("a message of %d bytes begins in a call without credit", bytes)}
	}
	d.left -= bytes
	if flags&native.FlagNoMessage == 0 {
		d.partial = flags&native.FlagMore != 0
	}
	d.ended = d.ended || flags&native.FlagEnd != 0
	return nil
}
