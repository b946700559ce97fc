package http2

import "example.com/ferry/internal/bufpool"

// Output takes the bytes of a connection in the order of the calls.
type Output interface {
	// Write queues a copy of p.
	Write(p []byte)
	// WriteShared queues p, which lies within b.B, without a copy. It retains b until p is sent. It may copy a small p.
	WriteShared(b *bufpool.Buf, p []byte)
	// Full reports whether the queue has reached its high watermark and has not shrunk to its low watermark since. DATA then
	// waits in its stream. All other frames are still written.
	Full() bool
	// Hold says that the streams' queues take n more bytes of memory, or fewer if n is negative.
	Hold(n int)
	// Crowded reports whether all connections together queue too much. A stream's queue is then full at 4 KiB.
	Crowded() bool
}

// Handler gets what arrives on a connection. Conn calls it within Receive, Flush, Tick and Closed. Stream.Reset, Release, Write,
// Consumed and the Encoder's methods never call it. A Handler may call all methods of the Conn and of every Stream but Receive,
// Tick and Closed.
type Handler interface {
	// Headers is called for each field block: a request, an interim (1xx) or final response, or trailers (h.Trailers). h and
	// all views of it are valid until Headers returns. end means that the peer has ended its side of the stream.
	Headers(s *Stream, h *Head, end bool)
	// Data lends a piece of the body, which may be empty if end is set. The stream's receive window stays reduced until
	// Stream.Consumed. The connection's window is given back by Conn, so a paused stream does not stop the others.
	Data(s *Stream, p []byte, end bool)
	// Reset says that the stream has ended before both sides were complete. The Handler calls s.Release once its work for the
	// stream has ended. No other call for s follows.
	Reset(s *Stream, why StreamError)
	// Writable says that the queue of s, which was Full, has shrunk to half of Config.QueuePerStream.
	Writable(s *Stream)
	// Sent says that the end of this side's message, which had to wait in the queue of s, is written. It is not called for an end
	// that Write or Encoder.End has written at once: then Queued is 0.
	Sent(s *Stream)
	// GoAway says that the peer opens or accepts no further streams. Streams of this side up to last are still served. Reset is
	// called for all others, with Refused set.
	GoAway(last uint32, code Code)
}

// Stats counts what happened on a connection.
type Stats struct {
	StreamsOpened  uint64 // streams that the Handler has seen or opened
	Malformed      uint64 // messages refused with PROTOCOL_ERROR; RFC 9113, section 8.1.1
	HeaderTooLarge uint64 // messages beyond MaxHeader or MaxFields
	Refused        uint64 // streams refused with REFUSED_STREAM
	ResetsReceived uint64 // RST_STREAM frames of open streams
	ResetsSent     uint64 // RST_STREAM frames
}
