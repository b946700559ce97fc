package peer

import "example.com/ferry/protocol/native"

// Calls serves or makes calls on connections that also carry messages. Package rpc/native implements it for package stream, which knows no
// calls.
type Calls interface {
	// Connected is called after each handshake, before frames are handled, or at once if there is a connection already. w is the
	// node's WELCOME.
	Connected(c *Conn, w native.WelcomeFrame) CallSession

	// Ended is called once when there will be no further connection.
	Ended(why error)
}

// CallSession has the calls of one connection.
type CallSession interface {
	// NewReceiver returns what handles the frames of calls of one stream.
	NewReceiver() CallReceiver

	// Result handles the RESULT of an OFFER.
	Result(native.ResultFrame)

	// Drain is called when the node is stopping. It returns when this end makes no further call, and none is in progress.
	Drain()

	// Closing is called when the connection begins to close.
	Closing(why error)
}

// CallReceiver handles METHOD and the frames of calls that arrive on one stream. One goroutine calls it.
type CallReceiver interface {
	Handle(native.Frame) error
}

// DefaultCallLimits are the limits of an end whose configuration has none.
var DefaultCallLimits = native.CallLimits{Calls: 4096, Window: 16 << 20, StreamWindow: 256 << 10}
