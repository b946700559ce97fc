package http2

// streamState is the state of a stream. RFC 9113, section 5.1, without the reserved states: this package refuses PUSH_PROMISE.
//
//	        sendHeaders, receiveHeaders
//	 idle ──────────────────────────────► open
//	                                     │    │
//	                      sendEnd        │    │        receiveEnd
//	       ┌─────────────────────────────┘    └───────────────────────────┐
//	       ▼                                                              ▼
//	halfClosedLocal                                               halfClosedRemote
//	       │   receiveEnd                                      sendEnd    │
//	       └───────────────────────────► closed ◄─────────────────────────┘
//
// From each state, sendReset and receiveReset lead to closed. Both also stand for the end of the connection.
type streamState uint8

const (
	idle             streamState = iota // the stream has no HEADERS yet
	open                                // both sides may send
	halfClosedLocal                     // this side has sent END_STREAM
	halfClosedRemote                    // the peer has sent END_STREAM
	closed
	impossible // the result of an event that the state does not allow
)

// streamEvent is what changes a stream's state.
type streamEvent uint8

const (
	sendHeaders streamEvent = iota
	receiveHeaders
	sendEnd
	receiveEnd
	sendReset
	receiveReset
	streamEvents
)

// streamTransitions has the next state for each state and event. HEADERS that follow the first ones, which are interim responses,
// responses and trailers, do not change the state. The order of columns is that of the events.
var streamTransitions = [closed + 1][streamEvents]streamState{
	idle:             {open, open, impossible, impossible, closed, closed},
	open:             {open, open, halfClosedLocal, halfClosedRemote, closed, closed},
	halfClosedLocal:  {impossible, halfClosedLocal, impossible, closed, closed, closed},
	halfClosedRemote: {halfClosedRemote, impossible, closed, impossible, closed, closed},
	closed:           {impossible, impossible, impossible, impossible, closed, closed},
}

// enter changes the state of s by an event. No other function does. The callers check with canSend and canReceive that the event
// is allowed. A stream that becomes closed leaves the connection's table and drops its queue.
func (s *Stream) enter(e streamEvent) {
	next := streamTransitions[s.state][e]
	if next == impossible {
		panic("http2: a stream got an event that its state does not allow")
	}
	if next == s.state {
		return
	}
	s.state = next
	if next == closed {
		s.conn.streamClosed(s)
	}
}

// canSend reports whether this side may send HEADERS or DATA.
func (s *Stream) canSend() bool { return s.state <= open || s.state == halfClosedRemote }

// canReceive reports whether the peer may send HEADERS or DATA.
func (s *Stream) canReceive() bool { return s.state == open || s.state == halfClosedLocal }

// PeerEnded reports whether the peer has ended its side: with END_STREAM, by a reset, or with the connection.
func (s *Stream) PeerEnded() bool { return s.state >= halfClosedRemote }

// Ended reports whether both sides have ended and the queue is sent or dropped. Methods of such a stream do nothing.
func (s *Stream) Ended() bool { return s.state == closed }
