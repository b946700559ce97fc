package http2

import "sync"

// Stream is one request and its response. It belongs to the goroutine of its Conn. The server gets a Stream in its first Headers
// call, the client from Open. The driver calls Release once it has dropped its pointer. A Stream is reused for another request
// only after Release and after both sides have ended. Until then, calls of its methods are harmless in every state.
type Stream struct {
	// User is for the driver. Release sets it to nil.
	User any

	conn  *Conn
	id    uint32
	state streamState
	flags streamFlags

	sendWindow int   // bytes that the peer accepts; negative after a reduction of its initial window. RFC 9113, section 6.9.2
	recvWindow int   // bytes that the peer may still send
	lent       int   // bytes passed to Data and not consumed
	unacked    int   // bytes consumed and not yet given back by WINDOW_UPDATE
	bodyLeft   int64 // bytes of the peer's body that Content-Length announces and that have not arrived; -1 if unknown

	queue    sendQueue
	stalled  int       // calls of Tick in which nothing of the queue could leave, since a part of the released stream's queue has left
	trailers *blockBuf // encoded trailers that wait behind the queue
	onReset  Code      // code of the reset that waits for Encoder.End, if resetLater is set

	bucketNext           *Stream // in streamTable
	allPrev, allNext     *Stream // in streamTable
	readyPrev, readyNext *Stream // in readyList; also in the list of streams to reuse
}

// streamFlags are facts about a stream beside its state.
type streamFlags uint16

const (
	released     streamFlags = 1 << iota // the driver has called Release
	headSent                             // this side has sent a request or final response
	headReceived                         // the peer has sent a request or final response
	forHead                              // the request's method is HEAD
	forConnect                           // the request's method is CONNECT
	endQueued                            // the end of this side's body follows the queue
	queueFull                            // the queue has reached its high watermark and has not shrunk to the low one since
	ready                                // in Conn.ready
	counted                              // counts against the limit of concurrent streams
	resetLater                           // Reset was called between BeginHeaders and End
)

func (s *Stream) is(f streamFlags) bool { return s.flags&f != 0 }

// ID returns the stream's identifier. It is 0 on a client until Encoder.End has written the request's head.
func (s *Stream) ID() uint32 { return s.id }

// Consumed gives back n bytes of the stream's receive window, after the driver has passed on n bytes of Data. WINDOW_UPDATE is
// sent once half of the window is consumed. Bytes that Data has not lent are ignored. With Config.BoundHeld it gives back n bytes
// of the connection's window, too.
func (s *Stream) Consumed(n int) {
	n = min(n, s.lent)
	if n <= 0 {
		return
	}
	s.returnLent(n)
	s.giveBack(n)
}

// returnLent notes that the driver no longer holds n bytes of Data.
func (s *Stream) returnLent(n int) {
	s.lent -= n
	if s.conn.cfg.BoundHeld {
		s.conn.giveBack(n)
	}
}

// Reset sends RST_STREAM and drops the queue. The Handler is not called for s any more. A client's stream without an id sends
// nothing. Between BeginHeaders and End, the reset follows the field block.
func (s *Stream) Reset(code Code) {
	c := s.conn
	switch {
	case s.state == closed:
	case c.encoder.stream == s:
		s.flags |= resetLater
		s.onReset = code
	default:
		c.sendResetFrame(s.id, code, s.recvWindow)
		s.enter(sendReset)
	}
}

// Release says that the driver has dropped its pointer to s and has ended its work for s. The driver calls it once for each
// stream, in any state, also within a Handler call for s, and also after Handler.Reset. The Handler is not called for s any more.
// A server's stream counts against Config.MaxStreams until Release. If this side has not ended, the stream is reset with CANCEL.
// If it has ended and the peer has not, the queue is sent first, and then RST_STREAM: with NO_ERROR on a server (RFC 9113,
// section 8.1), with CANCEL on a client.
func (s *Stream) Release() {
	if s.is(released) {
		return
	}
	s.flags |= released
	s.User = nil
	c := s.conn
	s.returnLent(s.lent)
	switch {
	case s.state == closed:
		c.recycle(s)
		return
	case !s.is(endQueued) && s.state != halfClosedLocal:
		s.Reset(Cancel)
	case s.state == halfClosedLocal:
		c.abandon(s)
	}
}

// abandon ends a released stream whose local side has ended.
func (c *Conn) abandon(s *Stream) {
	if s.state != closed {
		code := NoError
		if c.client {
			code = Cancel
		}
		s.Reset(code)
	}
}

var streamPool = sync.Pool{New: func() any { return new(Stream) }}

// newStream returns a stream that counts against the limit of concurrent streams.
func (c *Conn) newStream() *Stream {
	s := streamPool.Get().(*Stream)
	bufs := s.queue.bufs
	*s = Stream{conn: c, flags: counted, sendWindow: c.peer.initialWindow, recvWindow: c.streamWindow(), bodyLeft: -1}
	s.queue.bufs = bufs
	c.streams.add(s)
	c.active++
	c.stats.StreamsOpened++
	return s
}

// streamClosed is called when s has become closed.
func (c *Conn) streamClosed(s *Stream) {
	c.streams.remove(s)
	c.ready.remove(s)
	s.queue.drop(c.out)
	if s.trailers != nil {
		s.trailers.release()
		s.trailers = nil
	}
	if c.client {
		c.uncount(s)
	}
	c.noteUnreadResponse(s)
	if s.is(released) {
		c.recycle(s)
	}
}

func (c *Conn) uncount(s *Stream) {
	if s.is(counted) {
		s.flags &^= counted
		c.active--
	}
}

// recycle lets s be reused. The methods of Conn on the stack may still use s, so it stays unchanged until they have returned.
func (c *Conn) recycle(s *Stream) {
	c.uncount(s)
	s.readyNext = c.unused
	c.unused = s
}

// reuse passes recycled streams on. It is called where no method of Conn uses a stream.
func (c *Conn) reuse() {
	for s := c.unused; s != nil; {
		next := s.readyNext
		s.readyNext, s.conn = nil, nil
		streamPool.Put(s)
		s = next
	}
	c.unused = nil
}
