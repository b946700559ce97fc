package http2

import "sync"

// Encoder writes one field block: a request, an interim or final response, or trailers. A Conn has one Encoder. Its methods are
// called in this order: BeginHeaders, the pseudo-header fields, the other fields, End. No other block of the connection may begin
// before End.
//
// The names may be in any case. Names and values are not judged: pass those of a Head or of a parsed HTTP/1 message. Fields that
// HTTP/2 does not have are left out: Connection, Keep-Alive, Proxy-Connection, Transfer-Encoding, Upgrade, and TE unless it is
// trailers (RFC 9113, section 8.2.2).
type Encoder struct {
	conn      *Conn
	stream    *Stream // nil between blocks
	*blockBuf         // nil between blocks
	table     encodeTable
	// plain is set for a block that refers to no entry of the table and adds none. Such a block may be sent later, or not at all.
	plain    bool
	trailers bool
	interim  bool
}

// BeginHeaders begins a field block of the stream and returns the Conn's Encoder. Once this side has sent the head of its message,
// the block is trailers: it ends the stream, and waits behind queued DATA. On a stream whose side has ended, the block is discarded.
func (s *Stream) BeginHeaders() *Encoder {
	c := s.conn
	e := &c.encoder
	if e.stream != nil {
		panic("http2: BeginHeaders before End of another block of the connection")
	}
	e.stream, e.trailers, e.interim = s, s.is(headSent), false
	if s.state == idle && c.phase != failed {
		c.streams.setID(s, c.nextID)
		c.nextID += 2
		s.enter(sendHeaders)
	}
	e.plain = !s.canSend() || s.is(endQueued) || s.queue.size > 0 || c.phase == failed
	e.blockBuf = blockPool.Get().(*blockBuf)
	if !e.plain {
		e.p = e.table.appendResize(e.p)
	}
	return e
}

// blockBuf holds an encoded block, and before it room for the header of a frame. Its pool is not bufpool, because each request of
// each loop takes one, and bufpool has a lock.
type blockBuf struct{ p []byte }

const keptBlock = 16 << 10 // bytes of the largest block that stays in the pool

var blockPool = sync.Pool{New: func() any { return &blockBuf{make([]byte, frameHeaderSize, 1<<10)} }}

func (b *blockBuf) release() {
	if cap(b.p) <= keptBlock {
		b.p = b.p[:frameHeaderSize]
		blockPool.Put(b)
	}
}

// End writes the block as HEADERS, and CONTINUATION if it is larger than the peer's frames may be. endStream ends this side of the
// stream. Trailers always end it; an interim response never does.
func (e *Encoder) End(endStream bool) {
	s, c, b := e.stream, e.conn, e.blockBuf
	e.stream, e.blockBuf = nil, nil
	endStream = (endStream || e.trailers) && !e.interim
	switch {
	case !s.canSend() || s.is(endQueued) || c.phase == failed:
		b.release()
	case s.queue.size > 0:
		s.trailers = b
		s.flags |= endQueued
	default:
		e.writeBlock(s, b.p, endStream)
		b.release()
		if !e.interim {
			s.flags |= headSent
		}
		if endStream {
			c.localEnd(s)
		}
	}
	if s.is(resetLater) {
		s.Reset(s.onReset)
	}
}

// writeBlock writes the frames of a block. p begins with room for the header of a frame.
func (e *Encoder) writeBlock(s *Stream, p []byte, endStream bool) {
	c := e.conn
	c.abuse.frames++
	flags := uint8(flagEndHeaders)
	if endStream {
		flags |= flagEndStream
	}
	kind := uint8(frameHeaders)
	for len(p)-frameHeaderSize > c.peer.maxFrame {
		putFrameHeader(p, c.peer.maxFrame, kind, flags&^flagEndHeaders, s.id)
		c.out.Write(p[:frameHeaderSize+c.peer.maxFrame])
		p = p[c.peer.maxFrame:] // the header of the next frame replaces bytes that are written
		kind, flags = frameContinuation, flagEndHeaders
	}
	putFrameHeader(p, len(p)-frameHeaderSize, kind, flags, s.id)
	c.out.Write(p)
}
